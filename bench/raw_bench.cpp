// SPDX-License-Identifier: Apache-2.0
#include "bare_nvrtc.hpp"
#include "benchmarks.hpp"

#include <cubinet/jit/compiler.hpp>

#include <fstream>
#include <iostream>

namespace cubinet::bench {

Result<RawProgram> read_raw_program(const std::filesystem::path& path) {
  std::ifstream file(path);
  const nlohmann::json item = nlohmann::json::parse(file, nullptr, false);
  if (item.is_discarded() || !item.contains("source"))
    return Error{ErrorCode::invalid_argument, "'" + path.string() + "' holds no program"};
  RawProgram raw;
  raw.program.name = item.value("name", path.stem().string());
  raw.program.text = item["source"];
  raw.program.kernels = item.value("names", std::vector<std::string>());
  raw.program.flags = item.value("flags", std::vector<std::string>());
  raw.include_directories = item.value("include", std::vector<std::string>());
  return raw;
}

namespace {

// Compiles like a user of NVRTC: opens the library, uses the source's flags and searches the
// toolkit's folders.
Result<nlohmann::json> compile_bare(const Settings& settings, const RawProgram& raw) {
  CUBINET_TRY_ASSIGN(const std::shared_ptr<Compiler> compiler, Compiler::open(settings.compiler));
  const std::filesystem::path toolkit = settings.compiler.toolkit_roots.front();
  BareProgram program{raw.program.name + ".cu", raw.program.text, {}, raw.program.flags};
  program.options.insert(program.options.begin(),
                         "--gpu-architecture=" + best_target(settings.device).to_string());
  program.options.emplace_back("--no-cache");
  for (const std::string& folder : raw.include_directories)
    program.options.push_back("-I" + folder);
  for (const char* folder : {"include", "include/cccl"})
    program.options.push_back("-I" + (toolkit / folder).string());
  const double start = now_seconds();
  CUBINET_TRY_ASSIGN(const BareNvrtc nvrtc, BareNvrtc::open(compiler->location().library));
  CUBINET_TRY_ASSIGN(const Bytes image, nvrtc.compile(program));
  return nlohmann::json{
      {"source", "bare NVRTC"}, {"seconds", now_seconds() - start}, {"bytes", image.size()}};
}

Result<nlohmann::json> compile_ours(const Settings& settings, const RawProgram& raw,
                                    const RawOptions& options) {
  std::shared_ptr<const Device> device;
  if (options.load) {
    // The context exists from before the clock starts until after it stops, as for the peers.
    CUBINET_TRY_ASSIGN(const std::shared_ptr<const Driver> driver, Driver::open());
    CUBINET_TRY_ASSIGN(device, Device::open(driver, settings.device));
    CUBINET_TRY_ASSIGN(const Device::ContextGuard current, device->make_current());
  }
  const SmTarget target = best_target(settings.device);
  const double start = now_seconds();
  CUBINET_TRY_ASSIGN(RuntimeOptions runtime_settings, runtime_options(settings, options.home));
  runtime_settings.compile_options.include_directories = raw.include_directories;
  KernelEvent event;
  runtime_settings.observer = [&event](const KernelEvent& seen) { event = seen; };
  CUBINET_TRY_ASSIGN(const std::shared_ptr<Runtime> runtime, Runtime::create(std::move(runtime_settings)));
  CUBINET_TRY_ASSIGN(const std::shared_ptr<const Kernel> kernel, runtime->resolve(raw.program));
  if (options.load) {
    CUBINET_TRY(runtime->function(*kernel, settings.device));
  } else {
    CUBINET_TRY(runtime->cubin(kernel->spec(), target));
  }
  return nlohmann::json{{"source", event.source ? std::string(to_string(*event.source)) : "error"},
                        {"seconds", now_seconds() - start},
                        {"find_seconds", event.find_seconds},
                        {"compile_seconds", event.compile_seconds},
                        {"load_seconds", event.load_seconds}};
}

}  // namespace

Result<void> bench_raw(const Settings& settings, const RawOptions& options) {
  CUBINET_TRY_ASSIGN(const RawProgram raw, read_raw_program(options.program));
  CUBINET_TRY_ASSIGN(const nlohmann::json line,
                     options.bare ? compile_bare(settings, raw) : compile_ours(settings, raw, options));
  std::cout << line.dump() << '\n';
  return {};
}

}  // namespace cubinet::bench
