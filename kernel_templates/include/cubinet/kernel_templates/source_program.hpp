// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/kernel_templates/kernel_template.hpp>

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace cubinet {

// CUDA C++ as it is, without a declaration: what people hand to NVRTC. All of it but the folders is part of
// the kernel's identity; of a library, its name.
struct SourceProgram {
  std::string name = "program";  // without a folder
  std::string ending = ".cu";    // behind the name it makes what messages and __FILE__ call the source
  std::string text;
  // The kernels that are asked for, as C++ names them at namespace scope: "axpy", "my::axpy<float, 4>".
  // Without any, all that the text compiles to, by their symbols.
  std::vector<std::string> kernels;
  // Variables that are set or read by these names (Function::global): "scale", "ns::table<float>". Each is
  // kept whether or not a kernel uses it. Those in managed memory, for which the compiler knows no names, are
  // known by their symbols.
  std::vector<std::string> globals;
  std::map<std::string, std::string> headers;  // by the name with which they are included
  std::vector<std::string> flags;              // NVRTC's, as people write them (compiler_options.hpp)
  std::string folder;                          // where quoted headers are looked for first; empty: nowhere
  // Included in this order before the first line of the text and of each further source. Their names and
  // texts are part of the identity.
  std::vector<Prelude> preludes;
  // Further sources, each with its own text, kernels, headers and folder: all are compiled as relocatable
  // code, under the flags and preludes of this one, and linked into one cubin. They have no flags, preludes,
  // sources or libraries.
  std::vector<SourceProgram> sources;
  // Device libraries to link with, by name: "cudadevrt" (the file libcudadevrt.a), or a file's own name
  // ("libmine.a", "mine.fatbin", "mine.ltoir", also .cubin, .ptx and .o). Where they lie is for
  // CompileOptions.
  std::vector<std::string> libraries;

  // As a template without parameters, which knows neither block nor shared memory: the launch says them. Its
  // resolve() gives its one specification, whatever it is given. invalid_argument for a name, a flag or an
  // expression that cannot be one.
  Result<std::shared_ptr<const KernelTemplate>> as_template() const;
};

}  // namespace cubinet
