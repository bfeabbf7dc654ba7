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

// [--template-file FILE …] [-I FOLDER …] [-L FOLDER …] [-D NAME[=VALUE] …] [--flag FLAG …]:
// templates of the user's own, where their headers and device libraries are found, and what else is
// said to the compiler. Every verb that compiles, or tells what a compilation would give, takes
// them.
struct TemplateSources {
  std::vector<std::string> template_files;
  std::vector<std::string> include_directories;
  std::vector<std::string> library_directories;
  std::vector<std::string> definitions;
  std::vector<std::string> flags;
  bool no_quotes = false;

  // As the line would be written: " --template-file FILE -I FOLDER -D NAME", quoted for a shell.
  std::string to_arguments() const;
};

// TEMPLATE -p name=value … --target sm_90a[,compute_90,…] and the sources, as several verbs take
// them.
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

// A complete, checked specification and the targets it is wanted for; each of them can launch it.
struct ResolvedKernel {
  std::shared_ptr<const KernelTemplate> kernel_template;
  std::optional<SourceProgram> program;  // without a declaration: what the template was made of
  KernelSpec spec;
  CompileOptions options;
  std::vector<ImageTarget> targets;
};

// "name=value" pairs as the template types them: not resolved yet.
Result<KernelSpec> parse_parameters(const KernelTemplate& kernel_template,
                                    const std::vector<std::string>& assignments);

// KERNEL as people name it: a template, by its parameters; otherwise a kernel that some store
// holds, by key or by the name of a function.
Result<std::shared_ptr<const Kernel>> resolve_kernel(Runtime& runtime, const std::string& subject,
                                                     const std::vector<std::string>& parameters);
// Which of these programs a kernel is a part of: the one in whose text its name stands, as that of
// a function if it can be, comments aside; the first where it stands in none.
std::size_t source_of_kernel(std::string_view expression, const std::vector<SourceProgram>& programs);

// `files`: where --source is read from. Every error it gives is wrong input, whatever its code.
Result<ResolvedKernel> resolve_kernel(FileSystem& files, const TemplateCatalog& catalog,
                                      const KernelArguments& arguments);

}  // namespace cubinet::cli
