// SPDX-License-Identifier: Apache-2.0
#include "compile_job.hpp"

#include "compile_flags.hpp"
#include "link_job.hpp"
#include "log_reading.hpp"
#include "nvrtc_program.hpp"
#include "root_folder.hpp"
#include "small_image.hpp"
#include "standard_headers.hpp"

#include <cubinet/base/stopwatch.hpp>
#include <cubinet/kernel_table/row_codec.hpp>
#include <cubinet/kernel_templates/template_catalog.hpp>
#include <cubinet/spec/cubin_elf.hpp>
#include <cubinet/spec/image_check.hpp>
#include <cubinet/spec/ptx.hpp>

#include <algorithm>
#include <charconv>
#include <system_error>

namespace cubinet {
namespace {

// A header that warns for every line must not make a record of megabytes.
constexpr std::size_t kMaximumWarningBytes = std::size_t{64} << 10;

std::vector<HeaderView> headers_of(const IncludeClosure& closure, const std::string& parameters_header) {
  std::vector<HeaderView> headers = {{kParametersHeaderName.data(), parameters_header.c_str()}};
  for (const CompilerHeader& header : closure.headers)
    headers.push_back({header.name.c_str(), header.text.c_str()});
  return headers;
}

// Returns the log with the original names of missing headers. `named` becomes the first of them.
std::string readable_log(const IncludeClosure& closure, const std::string& log,
                         const MissingHeader** named = nullptr) {
  std::string readable;
  std::size_t copied = 0;
  for (std::size_t at = log.find(kMissingPrefix); at != std::string::npos;
       at = log.find(kMissingPrefix, copied)) {
    const char* const begin = log.data() + at + kMissingPrefix.size();
    std::size_t number = 0;
    const auto [end, error] = std::from_chars(begin, log.data() + log.size(), number);
    readable += log.substr(copied, at - copied);
    copied = static_cast<std::size_t>(end - log.data());
    if (error != std::errc() || number >= closure.missing.size()) continue;
    readable += closure.missing[number].name;
    if (named != nullptr && *named == nullptr) *named = &closure.missing[number];
  }
  return readable + log.substr(copied);
}

void add_searched_folders(const MissingHeader& header, Error& error) {
  constexpr std::size_t kMostPlaces = 8;
  std::string places;
  for (std::size_t i = 0; i < std::min(header.places.size(), kMostPlaces); ++i)
    places += (i == 0 ? "'" : ", '") + header.places[i] + "'";
  if (header.places.size() > kMostPlaces)
    places += " and " + std::to_string(header.places.size() - kMostPlaces) + " others";
  error.message += "; the header '" + header.name + "', which " + header.asked_by + " includes, is " +
                   (places.empty() ? "not there" : "in none of " + places);
  error.remedy = "name its folder with `CompileOptions::include_directories`";
}

Error compile_error(const NvrtcApi& api, const CompileRequest& request, nvrtcResult result, std::string log,
                    const MissingHeader* not_found, const std::string& without_bundled) {
  if (!request.options.quote_sources) log.clear();
  const std::string what = request.spec.to_string() + " for " + request.target.to_string();
  Error error = nvrtc_error(api, result, "compiling " + what);
  if (result == NVRTC_ERROR_COMPILATION || result == NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID) {
    error.code = ErrorCode::compile_failed;
    error.message = what + " does not compile" + (log.empty() ? "" : ": " + first_error(log));
    error.remedy = remedy_of_log(log);
    if (!request.options.quote_sources) {
      error.remedy = "compile it where sources may be quoted (quote_sources)";
    } else if (error.remedy.empty()) {
      error.remedy = "the compiler's log tells all of it";
    }
  } else if (result == NVRTC_ERROR_INVALID_OPTION) {
    error.code = ErrorCode::invalid_argument;
    error.message = "NVRTC " + api.version().to_string() + " does not take the flags of " + what +
                    (log.empty() ? "" : ": " + first_error(log));
    error.remedy = "its documentation lists the flags of its release";
  } else if (!log.empty()) {
    error.message += ": " + first_error(log);
  }
  if (not_found != nullptr) {
    add_searched_folders(*not_found, error);
    if (!without_bundled.empty()) error.message += "; " + without_bundled;
  }
  error.detail = std::move(log);
  return error;
}

// Returns the name expression of a variable: its address, because a name expression must be
// constant.
std::string expression_of(const std::string& global) {
  return "&" + global;
}

Error no_such_kernel(const CompileRequest& request, const std::string& symbol) {
  return Error{ErrorCode::invalid_argument,
               "the template '" + request.kernel_template->name() + "' declares the kernel '" + symbol +
                   "', and its source defines none of that name",
               "declare it extern \"C\" __global__, or give its C++ name as symbol_expression"};
}

Error no_kernel(const CompileRequest& request) {
  return Error{ErrorCode::invalid_argument,
               "the source '" + request.kernel_template->name() +
                   "' compiles to no kernel: none is extern \"C\" or named, or used by one that is",
               "name the kernels, as \"axpy\" or \"axpy<float, 4>\""};
}

Error other_argument(const CompileRequest& request, const EntryPoint& entry, std::uint32_t bytes) {
  return Error{
      ErrorCode::invalid_argument,
      "the template '" + request.kernel_template->name() + "' declares parameter_bytes " +
          std::to_string(entry.parameter_bytes) + " of the kernel '" + entry.name + "', whose argument has " +
          std::to_string(bytes) + " bytes in its source",
      "declare the size of the structure that the kernel takes, or 0 where it takes several arguments"};
}

Error wrong_target(const CompileRequest& request, const std::string& built) {
  return Error{ErrorCode::internal,
               "NVRTC was asked for " + request.target.to_string() + " and built " + built};
}

// Checks the compiler's output against the template's declaration before it is kept. The driver
// loads a cubin that lacks a function, or one for another target, without an error.
Result<void> check_output(const CompileRequest& request, const Bytes& image,
                          std::vector<EntryPoint>& entries) {
  std::vector<std::string> kernels;
  if (request.kind == ImageKind::cubin) {
    CUBINET_TRY_ASSIGN(CubinInspection inspection, inspect_cubin(image));
    if (contradicts(inspection, request.target))
      return wrong_target(request, "a cubin for " + inspection.target_name());
    // A wrong declaration would otherwise fail only when the kernel is loaded on a device.
    for (const EntryPoint& entry : entries) {
      const auto kernel = std::find(inspection.kernels.begin(), inspection.kernels.end(), entry.symbol);
      if (kernel == inspection.kernels.end() || entry.parameter_bytes == 0) continue;
      const std::uint32_t bytes =
          inspection.argument_bytes[static_cast<std::size_t>(kernel - inspection.kernels.begin())];
      if (bytes != 0 && bytes != entry.parameter_bytes) return other_argument(request, entry, bytes);
    }
    kernels = std::move(inspection.kernels);
    // Internal kernels of a library cannot be looked up by name.
    if (entries.empty() && needs_link(request.spec.options)) {
      CUBINET_TRY_ASSIGN(kernels, visible_kernels(image));
    }
  } else {
    CUBINET_TRY_ASSIGN(PtxInspection inspection, inspect_ptx(image));
    if (inspection.target != request.target)
      return wrong_target(request, "PTX for " + inspection.target.compute_name());
    kernels = std::move(inspection.kernels);
  }
  if (entries.empty()) {  // without names, all kernels of the output
    if (kernels.empty() && !request.may_lack_kernels) return no_kernel(request);
    std::sort(kernels.begin(), kernels.end());
    for (const std::string& kernel : kernels) {
      EntryPoint& entry = entries.emplace_back();
      entry.name = kernel;
      entry.symbol = kernel;
    }
  }
  const std::vector<std::string_view> there(kernels.begin(), kernels.end());
  std::vector<std::string_view> symbols;
  for (const EntryPoint& entry : entries)
    symbols.push_back(entry.symbol);
  if (const std::string_view* missing = missing_symbol(there, symbols))
    return no_such_kernel(request, std::string(*missing));
  return {};
}

// A compiled program, and NVRTC's result.
struct ProgramRun {
  NvrtcProgram program;
  nvrtcResult result = NVRTC_ERROR_INTERNAL_ERROR;
};

Result<ProgramRun> run_once(const NvrtcApi& api, const KernelTemplate& source, const IncludeClosure& closure,
                            const std::vector<HeaderView>& headers, const std::vector<std::string>& flags) {
  CUBINET_TRY_ASSIGN(NvrtcProgram program,
                     NvrtcProgram::create(api, closure.source, source.file_name(), headers));
  for (const std::string& expression : source.symbol_expressions()) {
    if (!expression.empty()) CUBINET_TRY(program.add_name_expression(expression));
  }
  for (const std::string& global : source.globals())
    CUBINET_TRY(program.add_name_expression(expression_of(global)));
  ProgramRun run{std::move(program)};
  // NVRTC writes the working folder into line information and into the linker's inputs. It also
  // checks for files with the names of headers in memory: two names of one file are one header for
  // `#pragma once`.
  run_at_root([&] { run.result = run.program.compile(flags); });
  return run;
}

// Returns whether the first error is in a header of the toolkit. Those of the host APIs (<cuda.h>,
// <cublas_v2.h>) declare host functions, which NVRTC refuses.
bool fails_in_toolkit(const IncludeClosure& closure, const std::string& log) {
  const std::string line = first_error(log);
  const std::string_view file = std::string_view(line).substr(0, line.find('('));
  return std::any_of(closure.headers.begin(), closure.headers.end(), [&](const CompilerHeader& header) {
    return header.of_toolkit && header.name == file && !is_of_cccl(file);
  });
}

// Returns the flags with which headers of the host APIs compile.
std::vector<std::string> flags_of_host_headers(const IncludeClosure& closure) {
  std::vector<std::string> flags = {"--device-as-default-execution-space"};
  const bool has_library_types = std::any_of(
      closure.headers.begin(), closure.headers.end(),
      [](const CompilerHeader& header) { return header.of_toolkit && header.name == kLibraryTypesName; });
  if (has_library_types) flags.emplace_back(kLibraryTypesFlag);
  return flags;
}

// Compiles a source, and once more with the flags of host headers if one of them does not compile
// without.
Result<ProgramRun> run_program(const NvrtcApi& api, const KernelTemplate& source,
                               const IncludeClosure& closure, const std::vector<HeaderView>& headers,
                               std::vector<std::string> flags) {
  CUBINET_TRY_ASSIGN(ProgramRun first, run_once(api, source, closure, headers, flags));
  if (first.result != NVRTC_ERROR_COMPILATION || !fails_in_toolkit(closure, first.program.log()))
    return first;
  for (std::string& flag : flags_of_host_headers(closure))
    flags.push_back(std::move(flag));
  return run_once(api, source, closure, headers, flags);
}

// Compiles the sources of a request, and links them if there are several.
Result<CompiledSource> compile_all(NvrtcCopies& copies, const NvJitLinkApi* linker,
                                   const CompileRequest& request, const BuildInputs& inputs,
                                   const std::string& parameters_header, std::string& kept_because) {
  const IncludeClosure& closure = *inputs.closures.front();
  const bool links = needs_link(request.spec.options);
  if (linker != nullptr && !links)
    return compile_small(copies, *linker, request, closure, parameters_header, kept_because);
  const NvrtcCopies::Lease nvrtc(copies);
  if (links) return run_link_job(nvrtc.api(), *linker, request, inputs, parameters_header, kept_because);
  return compile_source(nvrtc.api(), request, *request.kernel_template, closure, parameters_header);
}

// Returns the cubin's encoded row in the kernel table; empty if its template declares none.
Result<Bytes> encoded_row(const CompileRequest& request) {
  CUBINET_TRY_ASSIGN(auto row, request.kernel_template->row(request.spec));
  if (!row) return Bytes();
  CUBINET_TRY(check_ranges(*row));
  return encode_row(*row);
}

}  // namespace

CompilerInput describe_source(NvrtcVersion version, const CompileRequest& request,
                              const KernelTemplate& source, const IncludeClosure& closure,
                              const std::string& parameters_header) {
  CompilerInput input;
  input.flags = compile_flags(request, version, closure.digest);
  for (const std::string& expression : source.symbol_expressions()) {
    if (!expression.empty()) input.names.push_back(expression);
  }
  input.source = {source.file_name(), closure.source.size(), {}};
  input.headers.push_back({std::string(kParametersHeaderName), parameters_header.size(), {}});
  for (const CompilerHeader& header : closure.headers)
    input.headers.push_back({header.name, header.text.size(), header.place.string()});
  input.sources = closure.digest;
  return input;
}

Result<CompiledSource> compile_source(const NvrtcApi& api, const CompileRequest& request,
                                      const KernelTemplate& source, const IncludeClosure& closure,
                                      const std::string& parameters_header) {
  const std::vector<std::string>& expressions = source.symbol_expressions();
  const CompilerOptions& options = request.spec.options;
  CUBINET_TRY_ASSIGN(const ProgramRun run,
                     run_program(api, source, closure, headers_of(closure, parameters_header),
                                 compile_flags(request, api.version(), closure.digest)));
  const NvrtcProgram& program = run.program;
  const nvrtcResult result = run.result;
  const std::string told = program.log();
  CompiledSource compiled;
  compiled.log = readable_log(closure, told);
  if (result != NVRTC_SUCCESS) {
    const MissingHeader* not_found = nullptr;
    static_cast<void>(readable_log(closure, first_error(told), &not_found));
    return compile_error(api, request, result, std::move(compiled.log), not_found, closure.without_bundled);
  }
  CUBINET_TRY_ASSIGN(compiled.code, optimises_at_link(options)         ? program.lto_ir()
                                    : request.kind == ImageKind::cubin ? program.cubin()
                                                                       : program.ptx());
  for (const std::string& expression : expressions) {
    compiled.symbols.emplace_back();
    if (expression.empty()) continue;
    CUBINET_TRY_ASSIGN(compiled.symbols.back(), program.lowered_name(expression));
  }
  for (const std::string& global : source.globals()) {
    CUBINET_TRY_ASSIGN(compiled.globals[global], program.lowered_name(expression_of(global)));
  }
  return compiled;
}

Result<CompileOutput> run_compile_job(NvrtcCopies& copies, const NvJitLinkApi* linker,
                                      const CompileRequest& request, const BuildInputs& inputs,
                                      const std::string& parameters_header) {
  const KernelTemplate& kernel_template = *request.kernel_template;
  CompileOutput output;
  CubinRecord& record = output.record;
  CUBINET_TRY_ASSIGN(record.entry_points, kernel_template.entry_points(request.spec));
  for (const auto& source : kernel_template.linked_sources()) {
    CUBINET_TRY_ASSIGN(const std::vector<EntryPoint> more, source->entry_points(request.spec));
    record.entry_points.insert(record.entry_points.end(), more.begin(), more.end());
  }

  const Stopwatch watch;
  output.variables_kept = inputs.variables_kept;
  CUBINET_TRY_ASSIGN(CompiledSource compiled,
                     compile_all(copies, linker, request, inputs, parameters_header, output.variables_kept));
  output.seconds = watch.seconds();

  Bytes& image = compiled.code;
  for (std::size_t i = 0; i < record.entry_points.size(); ++i) {
    if (!compiled.symbols[i].empty()) record.entry_points[i].symbol = compiled.symbols[i];
  }
  record.globals = std::move(compiled.globals);
  CUBINET_TRY(check_output(request, image, record.entry_points));
  record.identity = identify(request.spec, request.target);
  record.target = request.target;
  record.kind = request.kind;
  record.digest = sha256(image);
  record.size = image.size();
  record.interface_version = kernel_template.interface_version();
  record.template_text = kernel_template.text_digest();
  for (const std::string& flag : code_flags(request))
    record.options += (record.options.empty() ? "" : " ") + flag;
  if (request.kind == ImageKind::cubin) {
    CUBINET_TRY_ASSIGN(record.row, encoded_row(request));
  }
  if (request.options.quote_sources) record.warnings = compiled.log.substr(0, kMaximumWarningBytes);
  output.image = std::make_shared<const Bytes>(std::move(image));
  return output;
}

}  // namespace cubinet
