// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/jit/compiler.hpp>

namespace cubinet {

// Names the build of a compiler by its files' contents, without loading them (which costs 100 ms and more):
// the GNU build-ids of libnvrtc and its builtins, or the SHA-256 of a file that has none. The same for the
// same files wherever they lie.
Result<std::string> compiler_identity(const CompilerCandidate& candidate);

}  // namespace cubinet
