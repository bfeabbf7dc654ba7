// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace cubinet {

// What NVRTC's and nvJitLink's logs say.

// The first line that tells an error, for the message; the whole log goes into the details.
std::string first_error(const std::string& log);

// What to do where the words are those of a thing that is missing or there twice when it is linked, which
// NVRTC tells as well of what is not linked yet; empty for all others.
std::string remedy_of_log(const std::string& log);

}  // namespace cubinet
