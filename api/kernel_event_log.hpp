// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/runtime.hpp>

namespace cubinet {

// Logs a request that missed the process cache or failed as one record with the event's facts as
// fields: at info if the kernel was compiled, otherwise at debug.
void log_event(const LogSink& sink, const KernelEvent& event);

}  // namespace cubinet
