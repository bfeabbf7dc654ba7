// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device_library.hpp"
#include "nvjitlink_api.hpp"

#include <cubinet/jit/compiler.hpp>

#include <string>
#include <vector>

namespace cubinet {

// An input of the linker. Does not own its content.
struct LinkInput {
  std::string name;
  LinkInputKind kind;
  ByteView content;
};

struct LinkOutput {
  Bytes image;           // of the request's kind
  std::string warnings;  // of the linker, one per line
};

// Links the inputs in their order with these flags (link_flags()). Errors name the request. If an
// input may contain machine code, this must be called in the link thread (link_thread.hpp).
Result<LinkOutput> link(const NvJitLinkApi& api, const CompileRequest& request,
                        const std::vector<LinkInput>& inputs, const std::vector<std::string>& flags);

// Returns "axpy for sm_90a", for messages.
std::string what_is_linked(const CompileRequest& request);

}  // namespace cubinet
