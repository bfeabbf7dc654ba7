// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernel_subject.hpp"

#include <cubinet/base/bytes.hpp>

namespace cubinet {

// CUDA_ERROR_INSUFFICIENT_LOADER_VERSION, which headers before CUDA 13.5 do not have: the image asks for a
// later loader than the driver has.
inline constexpr int kInsufficientLoaderVersion = 227;

// Where a driver refused an image because it is of a later CUDA than itself: says of which both are, and what
// helps. Any other error stays as it is.
Error with_toolchains(Error error, const KernelSubject& subject, ByteView image);

}  // namespace cubinet
