// SPDX-License-Identifier: Apache-2.0
#include "kernel_arguments.hpp"

#include "arguments.hpp"

#include <cubinet/base/text.hpp>
#include <cubinet/session/template_files.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace cubinet::cli {

void add_template_files(CLI::App& verb, std::vector<std::string>& files) {
  add_list(verb, "--template-file", files, "FILE|FOLDER",
           "A template of your own, or a folder of them; may be repeated");
}

void add_template_sources(CLI::App& verb, TemplateSources& sources) {
  add_template_files(verb, sources.template_files);
  add_list(verb, "-I", sources.include_directories, "FOLDER",
           "Where headers of your templates are found; may be repeated");
  add_list(verb, "-L", sources.library_directories, "FOLDER",
           "Where device libraries are found; may be repeated");
  add_list(verb, "-D", sources.definitions, "NAME[=VALUE]", "A macro for the compiler; may be repeated");
  add_list(verb, "--flag", sources.flags, "FLAG", "A flag for NVRTC, such as --std=c++20; may be repeated");
  verb.add_flag("--no-quotes", sources.no_quotes,
                "Keep the compiler's log, which quotes what a template includes, out of errors");
}

void add_parameters(CLI::App& verb, std::vector<std::string>& parameters) {
  add_list(verb, "-p,--parameter", parameters, "NAME=VALUE", "A parameter of the template; may be repeated");
}

void add_kernel_arguments(CLI::App& verb, KernelArguments& arguments) {
  verb.add_option("TEMPLATE", arguments.template_name, "The template, as `cubinet templates` lists it")
      ->type_name("");
  add_list(verb, "--source", arguments.source_files, "FILE",
           "CUDA C++ without a declaration, instead of a template; several are linked into one cubin");
  add_list(verb, "--name", arguments.kernels, "EXPRESSION",
           "A kernel of --source, as 'axpy<float, 4>'; may be repeated (default: all that it compiles to)");
  add_list(verb, "--global", arguments.globals, "NAME",
           "A variable of --source that is asked for by this C++ name; may be repeated");
  add_list(
      verb, "--library", arguments.libraries, "NAME",
      "A device library to link --source with: cudadevrt, or a file's name as mine.fatbin; may be repeated");
  add_list(verb, "--prelude", arguments.prelude_files, "FILE",
           "Include this file before the first line of each --source; may be repeated");
  add_parameters(verb, arguments.parameters);
  add_list(verb, "--target", arguments.targets, "sm_90a[,...]",
           "The SM targets, compute_90 for PTX; may be repeated")
      ->required();
  add_template_sources(verb, arguments.sources);
}

std::string TemplateSources::to_arguments() const {
  std::string line;
  for (const std::string& file : template_files)
    line += " --template-file " + shell_quoted(file);
  for (const std::string& directory : include_directories)
    line += " -I " + shell_quoted(directory);
  for (const std::string& directory : library_directories)
    line += " -L " + shell_quoted(directory);
  for (const std::string& definition : definitions)
    line += " -D " + shell_quoted(definition);
  for (const std::string& flag : flags)
    line += " --flag=" + shell_quoted(flag);
  return line;
}

Result<CompileOptions> compile_options(const TemplateSources& sources) {
  CompileOptions options;
  options.include_directories = sources.include_directories;
  options.library_directories = sources.library_directories;
  std::vector<std::string> flags = sources.flags;
  for (const std::string& definition : sources.definitions)
    flags.push_back("-D" + definition);
  CUBINET_TRY_ASSIGN(options.flags, parse_compiler_flags(flags));
  options.quote_sources = !sources.no_quotes;
  return options;
}

namespace {

const ParameterDeclaration* find_declaration(const KernelTemplate& kernel_template, std::string_view name) {
  const auto& declarations = kernel_template.parameters();
  const auto found =
      std::find_if(declarations.begin(), declarations.end(),
                   [&](const ParameterDeclaration& declaration) { return declaration.name == name; });
  return found == declarations.end() ? nullptr : &*found;
}

}  // namespace

Result<KernelSpec> parse_parameters(const KernelTemplate& kernel_template,
                                    const std::vector<std::string>& assignments) {
  KernelSpec spec;
  spec.name = kernel_template.name();
  for (const std::string& assignment : assignments) {
    const std::size_t equals = assignment.find('=');
    if (equals == std::string::npos || equals == 0) {
      return Error{
          ErrorCode::invalid_argument,
          fmt::format("'{}' gives no parameter a value", assignment.substr(0, 80)),
          assignment == "tx" ? "write -p name=value; nvcc's -ptx is --emit ptx here" : "write -p name=value"};
    }
    const std::string name = assignment.substr(0, equals);
    CUBINET_TRY(check_parameter_name(kernel_template, name));
    if (spec.parameters.count(name) != 0) {
      return Error{ErrorCode::invalid_argument, fmt::format("the parameter '{}' is given twice", name)};
    }
    CUBINET_TRY_ASSIGN(ParameterValue value,
                       parse_parameter_value(*find_declaration(kernel_template, name),
                                             std::string_view(assignment).substr(equals + 1)));
    spec.set(name, std::move(value));
  }
  return spec;
}

Result<std::shared_ptr<const Kernel>> resolve_kernel(Runtime& runtime, const std::string& subject,
                                                     const std::vector<std::string>& parameters) {
  const auto kernel_template = runtime.templates().find(subject);
  if (kernel_template) {
    CUBINET_TRY_ASSIGN(const KernelSpec spec, parse_parameters(**kernel_template, parameters));
    return runtime.resolve(spec);
  }
  Error error = kernel_template.error();
  if (parameters.empty()) {
    auto held = runtime.resolve(subject);
    if (held || held.error().code != ErrorCode::not_found) return held;
    error.message += "; " + held.error().message;
    error.remedy += "; " + held.error().remedy;
    return error;
  }
  error.code = ErrorCode::invalid_argument;  // only templates have parameters
  error.remedy +=
      "; --template-file names the file of your own template; without a template a kernel is "
      "named by its key or function, and takes no -p";
  return error;
}

namespace {

// Returns the text with blanks in place of comments and string literals.
std::string code_of(std::string_view text) {
  std::string code(text);
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::size_t end = at;
    if (text.substr(at, 2) == "//") {
      end = std::min(text.find('\n', at), text.size());
    } else if (text.substr(at, 2) == "/*") {
      end = std::min(text.find("*/", at + 2), text.size() - 2) + 2;
    } else if (text[at] == '"') {
      for (end = at + 1; end < text.size() && text[end] != '"' && text[end] != '\n'; ++end) {
        if (text[end] == '\\') ++end;
      }
      end = std::min(end + 1, text.size());
    }
    if (end == at) continue;
    std::fill(code.begin() + static_cast<std::ptrdiff_t>(at), code.begin() + static_cast<std::ptrdiff_t>(end),
              ' ');
    at = end - 1;
  }
  return code;
}

// Returns 0 if the code does not contain the word, 2 if a parenthesis follows it, as in a function,
// and 1 otherwise.
int nearness(std::string_view code, std::string_view word) {
  int best = 0;
  for (std::size_t at = code.find(word); at != std::string_view::npos; at = code.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at > 0 && is_word_character(code[at - 1])) || (end < code.size() && is_word_character(code[end])))
      continue;
    const std::size_t next = code.find_first_not_of(" \t\r\n", end);
    if (next != std::string_view::npos && code[next] == '(') return 2;
    best = 1;
  }
  return best;
}

std::string folder_of(const std::filesystem::path& file) {
  std::error_code unknown;
  return std::filesystem::absolute(file, unknown).parent_path().string();
}

// Reads the program of --source. Its name is the file's name without folder and extension. Further
// files are linked with it.
Result<SourceProgram> read_program(FileSystem& files, const KernelArguments& arguments,
                                   const CompileOptions& options) {
  std::vector<SourceProgram> programs;
  std::map<std::string, unsigned> names;
  for (const std::filesystem::path file : arguments.source_files) {
    SourceProgram& program = programs.emplace_back();
    CUBINET_TRY_ASSIGN(const Bytes text, files.read(file, kMaximumTemplateBytes));
    program.text = as_text(text);
    program.name = file.stem().string();
    program.ending = file.extension().string();
    if (const unsigned count = ++names[program.name]; count > 1) program.name += fmt::format("~{}", count);
    program.folder = folder_of(file);
  }
  for (const std::string& kernel : arguments.kernels)
    programs[source_of_kernel(kernel, programs)].kernels.push_back(kernel);
  for (const std::string& global : arguments.globals)
    programs[source_of_kernel(global, programs)].globals.push_back(global);
  SourceProgram program = std::move(programs.front());
  programs.erase(programs.begin());
  program.sources = std::move(programs);
  program.libraries = arguments.libraries;
  for (const std::filesystem::path file : arguments.prelude_files) {
    CUBINET_TRY_ASSIGN(const Bytes text, files.read(file, kMaximumTemplateBytes));
    program.preludes.push_back({file.filename().string(), std::string(as_text(text)), folder_of(file)});
  }
  program.flags = compiler_flags(options.flags);
  return program;
}

// If the name of the template is a file, changes the remedy to explain how to compile a file.
Error no_template(Error error, const std::string& name) {
  std::error_code unknown;
  if (std::filesystem::is_regular_file(name, unknown))
    error.remedy =
        "a file is compiled as it is with --source; a template of your own is named with "
        "--template-file beside its name";
  return error;
}

Result<void> check_subject(const KernelArguments& arguments) {
  const bool from_source = !arguments.source_files.empty();
  if (arguments.template_name.empty() && !from_source) {
    return Error{ErrorCode::invalid_argument, "neither a template nor --source is named",
                 "name a template that `cubinet templates` lists, or a file with --source"};
  }
  if (from_source && (!arguments.template_name.empty() || !arguments.parameters.empty())) {
    return Error{ErrorCode::invalid_argument, "--source goes without a template and its parameters",
                 "give values to a source with -D"};
  }
  if (!from_source && !(arguments.kernels.empty() && arguments.globals.empty()))
    return Error{ErrorCode::invalid_argument, "--name and --global name kernels and variables of --source"};
  if (!from_source && !arguments.libraries.empty())
    return Error{ErrorCode::invalid_argument, "--library is linked with --source"};
  if (!from_source && !arguments.prelude_files.empty())
    return Error{ErrorCode::invalid_argument, "--prelude goes before --source",
                 "include the file in the template"};
  return {};
}

}  // namespace

std::size_t source_of_kernel(std::string_view expression, const std::vector<SourceProgram>& programs) {
  // The kernel "my::axpy<float, 4>" is the function "axpy".
  std::string_view word = expression.substr(0, expression.find_first_of("<("));
  if (const std::size_t colon = word.rfind(':'); colon != std::string_view::npos)
    word.remove_prefix(colon + 1);
  while (!word.empty() && !is_word_character(word.front()))
    word.remove_prefix(1);
  while (!word.empty() && !is_word_character(word.back()))
    word.remove_suffix(1);
  std::size_t nearest = 0;
  int best = 0;
  for (std::size_t i = 0; i < programs.size() && programs.size() > 1 && !word.empty(); ++i) {
    const int found = nearness(code_of(programs[i].text), word);
    if (found > best) {
      nearest = i;
      best = found;
    }
  }
  return nearest;
}

Result<ResolvedKernel> resolve_kernel(FileSystem& files, const TemplateCatalog& catalog,
                                      const KernelArguments& arguments) {
  CUBINET_TRY(check_subject(arguments));
  ResolvedKernel kernel;
  CUBINET_TRY_ASSIGN(kernel.targets, parse_image_targets(arguments.targets));
  CUBINET_TRY_ASSIGN(kernel.options, compile_options(arguments.sources));
  KernelSpec spec;
  if (arguments.source_files.empty()) {
    auto found = catalog.find(arguments.template_name);
    if (!found) return no_template(std::move(found).error(), arguments.template_name);
    kernel.kernel_template = *std::move(found);
    CUBINET_TRY_ASSIGN(spec, parse_parameters(*kernel.kernel_template, arguments.parameters));
  } else {
    CUBINET_TRY_ASSIGN(kernel.program, read_program(files, arguments, kernel.options));
    CUBINET_TRY_ASSIGN(kernel.kernel_template, kernel.program->as_template());
  }
  spec.options = kernel.options.flags;
  CUBINET_TRY_ASSIGN(kernel.spec, kernel.kernel_template->resolve(spec));
  for (const ImageTarget target : kernel.targets) {
    CUBINET_TRY(kernel.kernel_template->check_target(kernel.spec, target.target, target.kind));
  }
  return kernel;
}

}  // namespace cubinet::cli
