// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/cubinet.h>

namespace cubinet_python {

// Makes the runtimes of a configuration report their ranges with NVTX. Does nothing if the package
// was built without its header. Without a profiler a range calls nothing.
void send_ranges_to_nvtx(cubinet_config* config);

}  // namespace cubinet_python
