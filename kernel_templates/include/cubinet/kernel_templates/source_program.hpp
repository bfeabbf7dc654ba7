// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/kernel_templates/kernel_template.hpp>

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace cubinet {

// CUDA C++ source without a declaration, as for NVRTC. All members except the folders are part of
// the kernel's identity; of a library, only its name.
struct SourceProgram {
  std::string name = "program";  // without a folder
  std::string ending = ".cu";    // name + ending is the source's name in messages and in __FILE__
  std::string text;
  // The C++ names of the kernels to look up, at namespace scope: "axpy", "my::axpy<float, 4>".
  // Empty: all kernels of the text, by their symbols.
  std::vector<std::string> kernels;
  // The C++ names of variables to look up (Function::global): "scale", "ns::table<float>". Each is
  // kept even if no kernel uses it. Managed variables have no C++ names for the compiler and are
  // known by their symbols.
  std::vector<std::string> globals;
  std::map<std::string, std::string> headers;  // by the name that #include gives
  std::vector<std::string> flags;              // for NVRTC, as on a command line (compiler_options.hpp)
  std::string folder;                          // searched first for quoted headers; empty: none
  // Texts included, in this order, before the first line of this text and of each further source.
  // Their names and texts are part of the identity.
  std::vector<Prelude> preludes;
  // Further sources with their own texts, kernels, headers and folders. All sources are compiled as
  // relocatable code with the flags and preludes of this one, and linked into one cubin. They must
  // have no flags, preludes, sources or libraries.
  std::vector<SourceProgram> sources;
  // Device libraries to link with: "cudadevrt" (the file libcudadevrt.a), or a file name
  // ("libmine.a", "mine.fatbin", "mine.ltoir", also .cubin, .ptx and .o). CompileOptions names the
  // folders.
  std::vector<std::string> libraries;

  // Returns a template without parameters. Launches state block and shared memory. Its resolve()
  // ignores its argument and returns the only specification. Returns invalid_argument for a wrong
  // name, flag or expression.
  Result<std::shared_ptr<const KernelTemplate>> as_template() const;
};

}  // namespace cubinet
