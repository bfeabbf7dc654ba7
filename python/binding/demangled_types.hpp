// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cubinet_python {

// The kind of type that a kernel declares for one argument.
enum class ArgumentKind : std::uint8_t {
  unknown,  // the symbol does not state the types: extern "C", or a name of another language
  boolean,
  signed_integer,
  unsigned_integer,
  floating,
  pointer,
  other  // a structure, or a number that Python lacks, such as __half
};

struct ArgumentType {
  ArgumentKind kind = ArgumentKind::unknown;
  std::string name;  // "float", "const int*"; empty if unknown
};

// Returns the types of the arguments of a C++ function from its mangled name, by the demangler of
// the C++ runtime (Itanium C++ ABI). Returns an empty list for a name that is not mangled.
std::vector<ArgumentType> argument_types(const std::string& symbol);

}  // namespace cubinet_python
