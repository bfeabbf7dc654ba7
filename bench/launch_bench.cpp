// SPDX-License-Identifier: Apache-2.0
#include "bare_driver.hpp"
#include "benchmarks.hpp"
#include "decode_problems.hpp"
#include "launch_timing.hpp"
#include "look_up_timing.hpp"
#include "published_bench.hpp"

#include <cubinet/base/file_system.hpp>

#include <array>

namespace cubinet::bench {
namespace {

// Turns driver errors into an Error outside of the loop, so that the loop contains only the
// driver's call.
template <class... Arguments>
Result<double> time_bare(const BareDriverApi& api, CUfunction function, const Arguments&... arguments) {
  double seconds = 0;
  for (int batch = 0; batch < kBatchesOfRound; ++batch) {
    CUresult result = CUDA_SUCCESS;
    const double start = now_seconds();
    for (int i = 0; i < kLaunchesOfBatch; ++i) {
      CUlaunchConfig config{};
      config.gridDimX = config.gridDimY = config.gridDimZ = 1;
      config.blockDimX = 32;
      config.blockDimY = config.blockDimZ = 1;
      std::array<void*, sizeof...(Arguments)> pointers = {
          const_cast<void*>(static_cast<const void*>(&arguments))...};
      const CUresult launched = api.launch_kernel_ex(&config, function, pointers.data(), nullptr);
      if (launched != CUDA_SUCCESS) result = launched;
    }
    seconds += now_seconds() - start;
    CUBINET_TRY(check(result, "cuLaunchKernelEx"));
    CUBINET_TRY(check(api.stream_synchronize(nullptr), "cuStreamSynchronize"));
  }
  return seconds / (kLaunchesOfBatch * kBatchesOfRound);
}

struct LaunchCase {
  std::string name;
  std::shared_ptr<const Kernel> prepared;
  Function function;
};

template <class... Arguments>
Result<void> add_case(const Settings& settings, const std::shared_ptr<Runtime>& runtime,
                      const BareDriverApi& api, const LaunchCase& measured, Report& report,
                      const Arguments&... arguments) {
  const LaunchConfig config;
  const CUfunction handle = measured.function.handle();
  const auto bare = [&] { return time_bare(api, handle, arguments...); };
  const std::vector<Contender> contenders = {
      {"bare cuLaunchKernelEx", bare},
      {"cubinet, look-up and launch",
       [&] {
         return time_launches(api, [&]() -> Result<void> {
           const Result<Function> function = runtime->function(*measured.prepared, settings.device);
           if (!function) return function.error();
           return function->launch(config, arguments...);
         });
       }},
      {"cubinet, launch of a kept function",
       [&] { return time_launches(api, [&] { return measured.function.launch(config, arguments...); }); }},
      {"bare cuLaunchKernelEx, again", bare},
  };
  CUBINET_TRY_ASSIGN(const Rounds rounds, run_rounds(contenders, settings.rounds));
  nlohmann::json row = report.rounds_row(measured.name, rounds, "ns");
  Report::add_ratio(row, rounds, 1, 0, 1.10);
  Report::add_ratio(row, rounds, 2, 0, std::nullopt);
  // the spread of two measurements of the same thing
  Report::add_ratio(row, rounds, 3, 0, std::nullopt);
  report.add(std::move(row));
  return {};
}

Result<void> add_look_ups(const Settings& settings, const std::shared_ptr<Runtime>& runtime, Report& report) {
  constexpr int kKernels = 16;
  std::vector<KernelSpec> specs;
  std::vector<std::shared_ptr<const Kernel>> prepared;
  for (int variant = 0; variant < kKernels; ++variant) {
    specs.push_back(small_spec("bench_struct", variant));
    CUBINET_TRY_ASSIGN(prepared.emplace_back(), runtime->resolve(specs.back()));
    CUBINET_TRY(runtime->function(*prepared.back(), settings.device));
  }
  KernelSpec complete_attention = attention_spec(128, 64);
  CUBINET_TRY(runtime->function(complete_attention, settings.device));
  const auto by_prepared = [&](unsigned, int i) {
    return runtime->function(*prepared[static_cast<std::size_t>(i % kKernels)], settings.device);
  };
  const auto by_one = [&](unsigned, int) { return runtime->function(*prepared.front(), settings.device); };
  const auto by_spec = [&](unsigned, int i) {
    return runtime->function(specs[static_cast<std::size_t>(i % kKernels)], settings.device);
  };
  const auto by_attention_spec = [&](unsigned, int) {
    return runtime->function(complete_attention, settings.device);
  };
  const std::vector<Contender> contenders = {
      {"prepared, 16 kernels, 1 thread", [&] { return time_look_ups(1, by_prepared); }},
      {"prepared, 16 kernels, 16 threads", [&] { return time_look_ups(16, by_prepared); }},
      {"prepared, one kernel, 16 threads", [&] { return time_look_ups(16, by_one); }},
      {"by specification, 1 parameter, 1 thread", [&] { return time_look_ups(1, by_spec); }},
      {"by specification, 1 parameter, 16 threads", [&] { return time_look_ups(16, by_spec); }},
      {"by specification, attention_decode, 1 thread", [&] { return time_look_ups(1, by_attention_spec); }},
  };
  CUBINET_TRY_ASSIGN(const Rounds rounds, run_rounds(contenders, settings.rounds));
  report.add(report.rounds_row("process cache alone", rounds, "ns"));
  return {};
}

Result<LaunchCase> prepare_case(const Settings& settings, Runtime& runtime, const char* template_name,
                                const std::filesystem::path& cubins) {
  LaunchCase prepared{template_name, nullptr, {}};
  CUBINET_TRY_ASSIGN(prepared.prepared, runtime.resolve(small_spec(template_name, 0)));
  CUBINET_TRY_ASSIGN(prepared.function, runtime.function(*prepared.prepared, settings.device));
  if (cubins.empty()) return prepared;
  CUBINET_TRY_ASSIGN(const std::optional<FoundCubin> found,
                     runtime.cubin(small_spec(template_name, 0), prepared.function.record().target));
  const std::filesystem::path file = cubins / (std::string(template_name) + ".cubin");
  CUBINET_TRY(write_file_atomically(*posix_file_system(), file, *found->cubin.image));
  return prepared;
}

// A step of a plan as the driver's arguments, with its kernel argument written.
struct BareStep {
  CUfunction function = nullptr;
  CUlaunchAttribute programmatic{};
  CUlaunchConfig config{};
  std::vector<std::byte> argument;
};

std::vector<BareStep> bare_steps(const BoundAttention& attention, const AttentionTensors& tensors) {
  std::vector<BareStep> steps(attention.functions().size());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const PlanStep& step = attention.plan().steps[i];
    BareStep& bare = steps[i];
    bare.function = attention.functions()[i].handle();
    bare.programmatic.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    bare.programmatic.value.programmaticStreamSerializationAllowed = 1;
    bare.config = {step.grid[0],
                   step.grid[1],
                   step.grid[2],
                   step.threads,
                   1,
                   1,
                   step.shared_bytes,
                   nullptr,
                   &bare.programmatic,
                   step.starts_early ? 1U : 0U};
    bare.argument.resize(step.arguments->size());
    step.arguments->prepare(bare.argument);
    step.arguments->write(tensors, bare.argument);
  }
  return steps;
}

// Measures run() of attention beside launches of the same kernels by the driver alone.
Result<void> add_attention(const Settings& settings, Runtime& runtime, const BareDriverApi& api,
                           std::uint32_t splits, Report& report) {
  AttentionProblem problem;
  problem.heads_q = 8;
  problem.kv_len = 1024;
  CUBINET_TRY_ASSIGN(const std::shared_ptr<const Device> device, runtime.device(settings.device));
  CUBINET_TRY_ASSIGN(const AttentionPlan plan, plan_decode_on(*device, problem, splits));
  CUBINET_TRY_ASSIGN(const BoundAttention attention, BoundAttention::bind(runtime, plan, settings.device));
  CUBINET_TRY_ASSIGN(const AttentionInputs inputs, make_attention_inputs(problem, {1024}, 1));
  CUBINET_TRY_ASSIGN(const TensorBuffers buffers,
                     TensorBuffers::create(device, problem, inputs, attention.plan().workspace));
  const AttentionTensors tensors = buffers.tensors();
  std::vector<BareStep> steps = bare_steps(attention, tensors);
  const auto bare = [&] {
    return time_launches(api, [&]() -> Result<void> {
      for (BareStep& step : steps) {
        void* argument = step.argument.data();
        CUBINET_TRY(
            check(api.launch_kernel_ex(&step.config, step.function, &argument, nullptr), "cuLaunchKernelEx"));
      }
      return {};
    });
  };
  const std::vector<Contender> contenders = {
      {"bare cuLaunchKernelEx", bare},
      {"cubinet, run()", [&] { return time_launches(api, [&] { return attention.run(tensors, nullptr); }); }},
      {"bare cuLaunchKernelEx, again", bare},
  };
  CUBINET_TRY_ASSIGN(const Rounds rounds, run_rounds(contenders, settings.rounds));
  nlohmann::json row =
      report.rounds_row("attention, " + std::to_string(steps.size()) + " kernels", rounds, "ns");
  Report::add_ratio(row, rounds, 1, 0, std::nullopt);
  // the spread of two measurements of the same thing
  Report::add_ratio(row, rounds, 2, 0, std::nullopt);
  report.add(std::move(row));
  return {};
}

}  // namespace

Result<void> bench_launch(const Settings& settings, const LaunchOptions& options, Report& report) {
  CUBINET_TRY_ASSIGN(RuntimeOptions runtime_settings,
                     runtime_options(settings, fresh_path(settings, "home")));
  CUBINET_TRY_ASSIGN(const std::shared_ptr<Runtime> runtime, Runtime::create(std::move(runtime_settings)));
  CUBINET_TRY_ASSIGN(const BareDriver driver, BareDriver::open(settings.device));
  CUBINET_TRY_ASSIGN(const LaunchCase structure,
                     prepare_case(settings, *runtime, "bench_struct", options.cubins));
  CUBINET_TRY_ASSIGN(const LaunchCase arguments,
                     prepare_case(settings, *runtime, "bench_arguments", options.cubins));
  report.set("method",
             "mean of 40 batches of 256 launches on the default stream, each batch waited for untimed");
  CUBINET_TRY(add_case(settings, runtime, driver.api(), structure, report, BenchStruct{}));
  constexpr int* kNone = nullptr;
  CUBINET_TRY(add_case(settings, runtime, driver.api(), arguments, report, kNone, kNone, kNone, kNone, kNone,
                       kNone, kNone, kNone, 1, 2, 3, 4, 5, 6, 7, 8));
  // The kernel itself combines a few splits of a tile. A second kernel combines eight.
  for (const std::uint32_t splits : {1U, 8U})
    CUBINET_TRY(add_attention(settings, *runtime, driver.api(), splits, report));
  CUBINET_TRY(add_published(settings, *runtime, driver.api(), report));
  if (options.only_launch) return {};
  return add_look_ups(settings, runtime, report);
}

}  // namespace cubinet::bench
