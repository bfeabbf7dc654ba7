// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/cubinet.h>

namespace cubinet_python {

// Makes the runtimes of a configuration write to Python's logger `cubinet`. The library calls the
// receiver on any thread and may hold a lock, so the receiver takes no lock and does not wait for
// the GIL: it queues the line and asks the interpreter's main thread to deliver it.
void send_log_to_python(cubinet_config* config);

// Passes the queued lines to the logger. Called with the GIL held, also after each call of the
// library, so that the lines of a call come before its result.
void deliver_log_lines();

// Stops deliveries. Called when the interpreter ends.
void stop_log();

}  // namespace cubinet_python
