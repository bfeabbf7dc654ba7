// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nvrtc_api.hpp"

#include <cubinet/jit/compiler.hpp>

namespace cubinet {

// The release that the file names of a candidate tell: that of the builtins ("libnvrtc-builtins.so.13.0"), or
// of the library; nullopt when neither does.
std::optional<NvrtcVersion> version_by_file_name(const CompilerCandidate& candidate);

}  // namespace cubinet
