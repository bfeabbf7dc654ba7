// SPDX-License-Identifier: Apache-2.0
#include "call.hpp"

uint32_t cubinet_abi_version(void) {
  return CUBINET_ABI_VERSION;
}
