// SPDX-License-Identifier: Apache-2.0
#include "bare_nvrtc.hpp"
#include "benchmarks.hpp"
#include "process_timing.hpp"

#include <cubinet/jit/compiler.hpp>
#include <cubinet/kernel_templates/template_catalog.hpp>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace cubinet::bench {
namespace {

std::vector<std::string> split(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;)
    words.push_back(word);
  return words;
}

// Returns the source, headers and options that cubinet passes to NVRTC for this request. The record
// omits options that do not change the code. Equal images show that nothing else is missing.
Result<BareProgram> bare_program(const CompileRequest& request, const CubinRecord& record) {
  CUBINET_TRY_ASSIGN(const std::string parameters, request.kernel_template->parameters_header(request.spec));
  BareProgram program{request.kernel_template->name() + ".cu", request.kernel_template->source(),
                      embedded_headers(), split(record.options)};
  program.headers["cubinet/parameters.cuh"] = parameters;
  program.options.insert(program.options.end(), {"--no-cache", "--no-source-include"});
  return program;
}

class CompileCase {
 public:
  CompileCase(const Settings& settings, const CompileOptionsOfBench& options,
              std::shared_ptr<Compiler> compiler, BareNvrtc nvrtc)
      : settings_(settings), options_(options), compiler_(std::move(compiler)), nvrtc_(std::move(nvrtc)) {}

  Result<void> run(const std::string& name, const CompileRequest& request, const KernelSpec& asked,
                   Report& report) {
    CUBINET_TRY_ASSIGN(const CompileOutput built, compiler_->compile(request));
    CUBINET_TRY_ASSIGN(const BareProgram program, bare_program(request, built.record));
    CUBINET_TRY_ASSIGN(const Bytes bare_image, nvrtc_.compile(program));
    std::vector<Contender> contenders = {
        {"Compiler::compile", [&] { return compile_once(request); }},
        {"Runtime::cubin, empty home",
         [&] { return runtime_once(asked, request.target, Clock::from_request); }},
        {"bare NVRTC",
         [&]() -> Result<double> {
           const double start = now_seconds();
           CUBINET_TRY(nvrtc_.compile(program));
           return now_seconds() - start;
         }},
    };
    contenders.push_back({"Runtime::create and cubin, empty home",
                          [&] { return runtime_once(asked, request.target, Clock::from_create); }});
    CUBINET_TRY_ASSIGN(const std::vector<std::string> nvcc, nvcc_command(request));
    if (!nvcc.empty()) contenders.push_back({"nvcc -cubin", [&nvcc] { return time_process(nvcc); }});
    CUBINET_TRY_ASSIGN(const Rounds rounds, run_rounds(contenders, settings_.rounds));

    nlohmann::json row = report.rounds_row(name, rounds, "ms");
    row["target"] = request.target.to_string();
    row["specification"] = request.spec.to_string();
    row["options"] = program.options;
    row["image_bytes"] = built.image->size();
    row["image_equals_bare"] = bare_image == *built.image;
    Report::add_ratio(row, rounds, 0, 2, 1.05);
    Report::add_ratio(row, rounds, 1, 2, std::nullopt);
    Report::add_ratio(row, rounds, 3, 2, std::nullopt);
    if (!nvcc.empty()) {
      Report::add_ratio(row, rounds, 0, 4, 0.60);
      Report::add_ratio(row, rounds, 2, 4, std::nullopt);
    }
    report.add(std::move(row));
    return {};
  }

 private:
  Result<double> compile_once(const CompileRequest& request) const {
    const double start = now_seconds();
    CUBINET_TRY(compiler_->compile(request));
    return now_seconds() - start;
  }

  // Includes the lookup, the lock and the durable publication. NVRTC is loaded already. Creating a
  // home is excluded, because it happens once per machine.
  enum class Clock { from_create, from_request };
  Result<double> runtime_once(const KernelSpec& asked, SmTarget target, Clock clock) const {
    const std::filesystem::path home = fresh_path(settings_, "home");
    double start = now_seconds();
    CUBINET_TRY_ASSIGN(RuntimeOptions options, runtime_options(settings_, home));
    CUBINET_TRY_ASSIGN(const std::shared_ptr<Runtime> runtime, Runtime::create(std::move(options)));
    if (clock == Clock::from_request) {
      CUBINET_TRY(runtime->compiler());
      start = now_seconds();
    }
    CUBINET_TRY_ASSIGN(const std::optional<FoundCubin> found, runtime->cubin(asked, target));
    const double seconds = now_seconds() - start;
    if (!found || found->source != KernelSource::compiled) {
      return Error{ErrorCode::internal, "an empty home held " + asked.to_string()};
    }
    std::filesystem::remove_all(home);
    return seconds;
  }

  Result<std::vector<std::string>> nvcc_command(const CompileRequest& request) const {
    if (options_.nvcc.empty()) return std::vector<std::string>{};
    CUBINET_TRY_ASSIGN(const std::string source, specialised_source(request));
    const std::filesystem::path file = fresh_path(settings_, "specialised").replace_extension(".cu");
    std::ofstream(file) << source;
    return std::vector<std::string>{options_.nvcc, "-cubin",
                                    "-std=c++17",  "-arch=" + request.target.to_string(),
                                    "-o",          file.string() + ".cubin",
                                    file.string()};
  }

  const Settings& settings_;
  const CompileOptionsOfBench& options_;
  std::shared_ptr<Compiler> compiler_;
  BareNvrtc nvrtc_;
};

}  // namespace

Result<void> bench_compile(const Settings& settings, const CompileOptionsOfBench& options, Report& report) {
  CUBINET_TRY_ASSIGN(const TemplateCatalog templates, bench_templates());
  CUBINET_TRY_ASSIGN(const std::shared_ptr<Compiler> compiler, Compiler::open(settings.compiler));
  CUBINET_TRY_ASSIGN(BareNvrtc nvrtc, BareNvrtc::open(compiler->location().library));
  report.set("compiler", compiler->identity());
  CompileCase bench(settings, options, compiler, std::move(nvrtc));
  const SmTarget target = best_target(settings.device);
  const std::vector<std::pair<std::string, KernelSpec>> cases = {
      {"rms_norm, hidden size 8192", rms_norm_spec(8192)},
      {"attention_decode, head dim 64", attention_spec(64, 64)},
      {"attention_decode, head dim 128", attention_spec(128, 64)},
      {"attention_decode, head dim 256", attention_spec(256, 64)},
  };
  for (const auto& [name, spec] : cases) {
    CompileRequest request;
    CUBINET_TRY_ASSIGN(request.kernel_template, templates.find(spec.name));
    CUBINET_TRY_ASSIGN(request.spec, request.kernel_template->resolve(spec));
    request.target = target;
    CUBINET_TRY(bench.run(name, request, spec, report));
  }
  return {};
}

}  // namespace cubinet::bench
