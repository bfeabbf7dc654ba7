// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace cubinet {

// The meaning of an option of nvcc for the machine code of one source.
enum class OptionRole {
  nvrtc,           // NVRTC has it too
  no_effect,       // it has no effect on device code
  number,          // has none, and its value is a number
  host_options,    // has none, unless the host's preprocessor reads one of its values
  ptxas_verbose,   // ptxas reports registers and memory
  macro,           // a macro, which `detail` names, is defined, and there is no other effect
  define,          // a macro is defined
  undefine,        // a macro is undefined
  include_folder,  // searched for headers
  system_folder,   // searched for headers after these
  output,          // the output file
  cubin,           // the product is a cubin
  ptx,             // the product is PTX
  architecture,    // a target
  code,            // a target of machine code
  generate_code,   // both of them
  machine,         // the host's word size
  relocatable,     // whether the code is linked later
  pass             // such a line is for nvcc
};

enum class OptionValue { none, required };

struct NvccOption {
  std::string_view long_name;   // after "--"
  std::string_view short_name;  // after "-"; empty: none
  OptionValue value = OptionValue::none;
  OptionRole role = OptionRole::no_effect;
  std::string_view detail = {};  // of OptionRole::pass: the reason; of OptionRole::macro: its name
};

std::span<const NvccOption> option_table();

// An option as a command line has it.
struct WrittenOption {
  const NvccOption* option = nullptr;
  std::string_view value;  // after "=", or directly after the name ("-DN")
  bool has_value = false;
};

// Returns the option of an argument that begins with '-'. `option` is null if the table lacks it.
WrittenOption find_option(std::string_view argument);

}  // namespace cubinet
