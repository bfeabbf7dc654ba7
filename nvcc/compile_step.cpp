// SPDX-License-Identifier: Apache-2.0
#include "compile_step.hpp"

#include "preamble.hpp"

#include <cubinet/base/absolute_path.hpp>
#include <cubinet/base/file_system.hpp>
#include <cubinet/cubin_registry/home.hpp>
#include <cubinet/jit/compiler.hpp>
#include <cubinet/session.hpp>
#include <cubinet/session/environment.hpp>
#include <cubinet/spec/kernel_key.hpp>

#include <sstream>

namespace cubinet::nvcc {
namespace {

constexpr std::uint64_t kMaximumSourceBytes = std::uint64_t{16} << 20;
constexpr const char* kBuildHeader = "cubinet-nvcc/build";

std::vector<std::string> words_of(const EnvironmentVariables& environment, std::string_view variable) {
  std::istringstream list(environment.find(variable).value_or(""));
  std::vector<std::string> words;
  for (std::string word; list >> word;)
    words.push_back(word);
  return words;
}

// Reads the source. Its name is its file's without the folder.
Result<SourceProgram> program_of(const CompileLine& line) {
  const std::filesystem::path file = line.source;
  SourceProgram program;
  CUBINET_TRY_ASSIGN(const Bytes text, posix_file_system()->read(file, kMaximumSourceBytes));
  program.text = as_text(text);
  program.name = file.stem().string();
  program.ending = file.extension().string();
  CUBINET_TRY_ASSIGN(const std::filesystem::path whole, absolute_path(file));
  program.folder = whole.parent_path().string();
  program.flags = line.flags;
  program.preludes.push_back({kPreambleName, preamble(line.flags), {}});
  program.headers = adapted_headers(line.include_directories);
  return program;
}

CompileStep for_nvcc(Error reason) {
  CompileStep step;
  step.refused = std::move(reason);
  return step;
}

// Returns whether nvcc may compile what NVRTC has refused with this error.
bool is_refusal(ErrorCode code) {
  return code == ErrorCode::compile_failed || code == ErrorCode::invalid_argument ||
         code == ErrorCode::unsupported;
}

Result<CompileRequest> request_for(const SourceProgram& program, const CompileLine& line,
                                   const CompileOptions& options) {
  CompileRequest request;
  CUBINET_TRY_ASSIGN(request.kernel_template, program.as_template());
  CUBINET_TRY_ASSIGN(request.spec, request.kernel_template->resolve({}));
  request.target = line.target;
  request.kind = line.kind;
  request.options = options;
  request.resolved = true;
  return request;
}

CompileStep step_of(std::shared_ptr<const Bytes> image, const std::string& log, std::string_view source) {
  CompileStep step;
  step.image = std::move(image);
  step.log = log;
  step.source = source;
  return step;
}

// Compiles a source without kernels, which no store keeps. CuPy compiles an empty one to learn
// nvcc's version.
std::optional<CompileStep> compile_without_kernels(Compiler& compiler, CompileRequest request) {
  request.may_lack_kernels = true;
  const auto output = compiler.compile(request);
  if (!output || !output->record.entry_points.empty()) return std::nullopt;
  return step_of(output->image, output->record.warnings, to_string(KernelSource::compiled));
}

// Returns the home's build of a kernel whose key covers everything that it is made of. The Runtime
// would read all headers once more to learn that the build is current. Reports no error: the
// Runtime finds it, too.
std::optional<CompileStep> find_in_home(Store* home, const KernelSpec& spec, const CompileLine& line) {
  if (home == nullptr) return std::nullopt;
  const auto records = home->find(identify(spec));
  if (!records) return std::nullopt;
  for (const auto& record : *records) {
    if (record->target != line.target || record->kind != line.kind) continue;
    const auto cubin = home->load(record);
    if (cubin && *cubin) return step_of((*cubin)->image, record->warnings, to_string(KernelSource::registry));
  }
  return std::nullopt;
}

}  // namespace

Result<SessionOptions> options_from(const EnvironmentVariables& environment, LogSink log) {
  CUBINET_TRY_ASSIGN(SessionOptions options, session_options_from(environment));
  options.log = std::move(log);
  for (std::string& place : words_of(environment, "CUBINET_NVCC_BUNDLES"))
    options.bundles.push_back({std::move(place)});
  const std::string key = environment.find("CUBINET_NVCC_CACHE_KEY").value_or("");
  for (std::string& reference : words_of(environment, "CUBINET_NVCC_CACHES"))
    options.caches.push_back({std::move(reference), key});
  return options;
}

Result<CompileStep> find_or_compile(const CompileLine& line, const SessionOptions& given, HomeNotes& notes) {
  auto read = program_of(line);
  if (!read && read.error().code == ErrorCode::not_found) return read.error();
  if (!read) return for_nvcc(read.error());  // a pipe, or a very large file, for example
  SourceProgram& program = *read;
  SessionOptions options = given;
  for (const std::string& folder : line.include_directories) {
    CUBINET_TRY_ASSIGN(const std::filesystem::path whole, absolute_path(folder));
    options.compile_options.include_directories.push_back(whole.string());
  }
  CUBINET_TRY_ASSIGN(const auto session, Session::open(options));
  if (session->home() != nullptr && session->home()->description().writable)
    notes = HomeNotes(session->home()->description().place);
  Runtime& runtime = session->runtime();
  const auto compiler = runtime.compiler();
  if (!compiler) return for_nvcc(compiler.error());
  const auto request = request_for(program, line, options.compile_options);
  if (!request) return for_nvcc(request.error());
  const auto fingerprint = (*compiler)->fingerprint(*request);
  if (!fingerprint) return for_nvcc(fingerprint.error());
  if (const auto reason = notes.refusal(*fingerprint))
    return for_nvcc(Error{ErrorCode::unsupported, *reason});
  // Headers and NVRTC are part of the key, too: a bundle's build is used only if it is exactly this
  // one, because its caller relies on the headers that it has. No source includes this header.
  program.headers[kBuildHeader] = fingerprint->digest.to_hex();
  CUBINET_TRY_ASSIGN(const auto kernel, runtime.resolve(program));
  if (auto step = find_in_home(session->home().get(), kernel->spec(), line)) return std::move(*step);
  auto found = runtime.cubin(kernel->spec(), line.target, line.kind);
  if (!found) {
    if (found.error().code == ErrorCode::invalid_argument) {
      if (auto step = compile_without_kernels(**compiler, *request)) return std::move(*step);
    }
    CompileStep step = for_nvcc(found.error());
    if (is_refusal(found.error().code)) step.fingerprint = *fingerprint;
    return step;
  }
  if (!found->has_value()) {
    return Error{ErrorCode::unavailable,
                 "'" + line.source + "' is in no store, and `CUBINET_COMPILE` forbids compiling",
                 "add a bundle that has it with `CUBINET_NVCC_BUNDLES`, or allow compiling"};
  }
  const FoundCubin& build = **found;
  return step_of(build.cubin.image, build.cubin.record->warnings, to_string(build.source));
}

}  // namespace cubinet::nvcc
