// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace cubinet {

// Functions that read the logs of NVRTC and nvJitLink.

// Returns the first line with an error, for the message. The error's detail has the whole log.
std::string first_error(const std::string& log);

// Returns the remedy for a symbol that is missing or defined twice when linking, which NVRTC also
// reports for unlinked code. Returns an empty text for other logs.
std::string remedy_of_log(const std::string& log);

}  // namespace cubinet
