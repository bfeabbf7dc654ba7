// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/spec/cubin.hpp>

namespace cubinet {

// Records of one build have one identity, kind and fingerprint: what they are of is interchangeable.
bool is_same_build(const CubinRecord& a, const CubinRecord& b);

// Whether of two records of one build `wanted` takes the place of `there`. The first one stays; but a local
// build is only ever made beside a bundle's when that one was of no use, and a newer bundle vouches for what
// it ships.
bool supersedes(const CubinRecord& wanted, const CubinRecord& there);

}  // namespace cubinet
