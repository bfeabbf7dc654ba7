// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "context.hpp"

#include <cubinet/kernel_templates/template_catalog.hpp>
#include <cubinet/runtime.hpp>
#include <cubinet/spec/image_target.hpp>

#include <CLI/App.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cubinet::cli {

// [--template-file FILE …] [-I FOLDER …] [-L FOLDER …] [-D NAME[=VALUE] …] [--flag FLAG …]: the
// user's own templates, the folders of their headers and device libraries, and further compiler
// options. Every verb that compiles, or reports the result of a compilation, has these options.
struct TemplateSources {
  std::vector<std::string> template_files;
  std::vector<std::string> include_directories;
  std::vector<std::string> library_directories;
  std::vector<std::string> definitions;
  std::vector<std::string> flags;
  bool no_quotes = false;

  // Returns the options as a part of a command line: " --template-file FILE -I FOLDER -D NAME",
  // quoted for a shell.
  std::string to_arguments() const;
};

// TEMPLATE -p name=value … --target sm_90a[,compute_90,…] and the sources: the arguments of verbs
// that take a kernel.
struct KernelArguments {
  std::string template_name;
  std::vector<std::string> source_files;  // instead: --source FILE … [--name EXPRESSION …] [--library NAME …]
  std::vector<std::string> kernels;
  std::vector<std::string> globals;  // [--global NAME …]
  std::vector<std::string> libraries;
  std::vector<std::string> prelude_files;  // [--prelude FILE …]
  std::vector<std::string> parameters;
  std::vector<std::string> targets;
  TemplateSources sources;
};

void add_template_files(CLI::App& verb, std::vector<std::string>& files);
void add_template_sources(CLI::App& verb, TemplateSources& sources);
void add_parameters(CLI::App& verb, std::vector<std::string>& parameters);
void add_kernel_arguments(CLI::App& verb, KernelArguments& arguments);

Result<CompileOptions> compile_options(const TemplateSources& sources);

// A complete, checked specification and the requested targets. Each target can launch it.
struct ResolvedKernel {
  std::shared_ptr<const KernelTemplate> kernel_template;
  std::optional<SourceProgram> program;  // the source of a template without a declaration
  KernelSpec spec;
  CompileOptions options;
  std::vector<ImageTarget> targets;
};

// Parses "name=value" pairs with the template's types. The result is not resolved yet.
Result<KernelSpec> parse_parameters(const KernelTemplate& kernel_template,
                                    const std::vector<std::string>& assignments);

// Returns the kernel with this name: a template with its parameters, else a kernel of a store by
// its key or the name of a function.
Result<std::shared_ptr<const Kernel>> resolve_kernel(Runtime& runtime, const std::string& subject,
                                                     const std::vector<std::string>& parameters);
// Returns the index of the program that contains a kernel: the one whose code has the kernel's
// name, preferably as a function. Comments are ignored. Returns 0 if no program has it.
std::size_t source_of_kernel(std::string_view expression, const std::vector<SourceProgram>& programs);

// Resolves the kernel of the arguments. Reads --source from `files`. Every error is a usage error,
// whatever its code.
Result<ResolvedKernel> resolve_kernel(FileSystem& files, const TemplateCatalog& catalog,
                                      const KernelArguments& arguments);

}  // namespace cubinet::cli
