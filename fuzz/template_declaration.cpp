// SPDX-License-Identifier: Apache-2.0
// Reads a template's source with its declaration.
#include "template_declaration.hpp"

#include "fuzz.hpp"

namespace cubinet::fuzz {

void read(ByteView bytes) {
  static_cast<void>(parse_template_declaration(as_text(bytes), "kernel.cu"));
}

}  // namespace cubinet::fuzz
