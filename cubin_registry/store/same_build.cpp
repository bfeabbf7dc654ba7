// SPDX-License-Identifier: Apache-2.0
#include "store/same_build.hpp"

namespace cubinet {

bool is_same_build(const CubinRecord& a, const CubinRecord& b) {
  return a.kind == b.kind && a.fingerprint == b.fingerprint && a.identity == b.identity;
}

bool supersedes(const CubinRecord& wanted, const CubinRecord& there) {
  if (there.origin != CubinOrigin::bundle) return false;
  return wanted.origin == CubinOrigin::compiled || wanted.version > there.version;
}

}  // namespace cubinet
