// SPDX-License-Identifier: Apache-2.0
#include <cubinet/c_api/call.hpp>

uint32_t cubinet_abi_version(void) {
  return CUBINET_ABI_VERSION;
}
