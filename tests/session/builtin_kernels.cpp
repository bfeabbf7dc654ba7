// SPDX-License-Identifier: Apache-2.0
#include "builtin_kernels.hpp"

#include "support/ok.hpp"

#include <cubinet/kernel_explanation.hpp>
#include <cubinet/session/json.hpp>

#include <algorithm>
#include <iterator>

namespace cubinet::test {
namespace {

constexpr SmTarget kSm80{8, 0, TargetKind::baseline};
constexpr SmTarget kSm90a{9, 0, TargetKind::specific};
constexpr SmTarget kSm100f{10, 0, TargetKind::family};
constexpr SmTarget kSm120f{12, 0, TargetKind::family};

// Devices with other SM counts of the same targets, so that the choice does not only fit one count.
std::vector<BuiltinDevice> grid_devices() {
  std::vector<BuiltinDevice> devices = builtin_devices();
  devices.push_back({kSm90a, {{9, 0}, 114, 0}});    // H100 PCIe
  devices.push_back({kSm100f, {{10, 3}, 160, 0}});  // B300
  devices.push_back({kSm120f, {{12, 0}, 84, 0}});   // RTX 5080
  return devices;
}

// The problems of each type that are planned for each device and page.
constexpr int kProblemsOfType = 2000;

class Choice {
 public:
  explicit Choice(KernelSet& kernels) : kernels_(kernels), backends_(ok(AttentionBackends::builtin())) {}

  // Adds the kernels that the device needs for problems of this type. The kernels of two types and
  // pages are distinct but for those that combine, so each begins with none (`own`).
  void serve(const BuiltinDevice& device, const BuiltinType& type, std::uint32_t page, KernelSet& own) {
    AvailableKernels available = own.available(device);
    std::mt19937 random(1);
    for (int i = 0; i < kProblemsOfType; ++i) {
      AttentionProblem problem = random_problem(random, type, page);
      problem.append.reset();  // add_other_kernels() adds what appends
      const AttentionPlan plan = ok(plan_attention(problem, device.facts, available, backends_));
      if (is_served(plan, device, own) && is_near_best(plan)) continue;
      const AttentionPlan best = ok(plan_attention(problem, device.facts, {}, backends_));
      for (const PlanStep& step : best.steps) {
        own.add(std::get<KernelSpec>(step.kernel), device.target);
        kernels_.add(std::get<KernelSpec>(step.kernel), device.target);
      }
      available = own.available(device);
    }
  }

 private:
  static bool is_served(const AttentionPlan& plan, const BuiltinDevice& device, const KernelSet& own) {
    return std::all_of(plan.steps.begin(), plan.steps.end(), [&](const PlanStep& step) {
      return own.has(std::get<KernelSpec>(step.kernel), device.target);
    });
  }

  bool is_near_best(const AttentionPlan& plan) const {
    if (plan.choice == KernelChoice::best) return true;
    const PlanRequest& request = plan.request;
    const AttentionPlan best = ok(plan_attention(request.problem, request.device, {}, backends_));
    return plan.cost.time <= kChosenFactor * best.cost.time;
  }

  KernelSet& kernels_;
  AttentionBackends backends_;
};

// The kernels whose parameters leave no choice.
void add_other_kernels(KernelSet& kernels, SmTarget target) {
  for (const char* kv : {"bf16", "e4m3"}) {
    for (const char* rope : {"none", "halves", "interleaved"}) {
      kernels.add(KernelSpec{"attention_append", {}}
                      .set("dtype", "bf16")
                      .set("dtype_q", "bf16")
                      .set("dtype_kv", kv)
                      .set("rope", rope),
                  target);
    }
  }
  for (const char* part : {"bf16", "fp32"})
    kernels.add(KernelSpec{"attention_merge", {}}.set("dtype", part).set("dtype_o", "bf16"), target);
}

}  // namespace

std::vector<BuiltinDevice> builtin_devices() {
  return {{kSm80, {{8, 0}, 108, 0}},
          {kSm90a, {{9, 0}, 132, 0}},
          {kSm100f, {{10, 0}, 148, 0}},
          {kSm120f, {{12, 0}, 188, 0}}};
}

std::vector<BuiltinType> builtin_types(SmTarget target) {
  std::vector<BuiltinType> types;
  for (const DataType kv : {DataType::bf16, DataType::e4m3}) {
    types.push_back({kv, 128, false});
    types.push_back({kv, 64, false});
    types.push_back({kv, 64, true});
    if (target == kSm90a) types.push_back({kv, 576, false});
  }
  return types;
}

std::vector<std::uint32_t> existing_pages() {
  std::vector<std::uint32_t> pages;
  const auto decode = ok(ok(TemplateCatalog::builtin()).find("attention_decode"));
  for (const ParameterDeclaration& parameter : decode->parameters()) {
    if (parameter.name != "page_size") continue;
    for (const std::uint32_t page : kBuiltinPages) {
      const ParameterValue value(std::int64_t{page});
      if (std::find(parameter.values.begin(), parameter.values.end(), value) != parameter.values.end())
        pages.push_back(page);
    }
  }
  return pages;
}

std::vector<ModelHeads> model_heads(const BuiltinType& type) {
  // 128: Llama 3 8B, 70B and 405B, Qwen 2.5 7B and 14B, Qwen 3 30B-A3B, Gemma 2 27B, a model with
  // as many heads of KV as of Q. 64: Llama 3.2 1B, Qwen 2.5 0.5B, gpt-oss. 576: DeepSeek V3.
  const std::vector<ModelHeads> models = type.latent() ? std::vector<ModelHeads>{{128, 1}}
                                         : type.head_dim == 64
                                             ? std::vector<ModelHeads>{{32, 8}, {14, 2}, {64, 8}, {12, 12}}
                                             : std::vector<ModelHeads>{{32, 8}, {64, 8}, {128, 8}, {28, 4},
                                                                       {40, 8}, {32, 4}, {32, 16}, {32, 32}};
  std::set<std::pair<std::uint32_t, std::uint32_t>> known;
  std::vector<ModelHeads> heads;
  for (const ModelHeads model : models) {
    for (const std::uint32_t gpus : {1U, 2U, 4U, 8U}) {
      const std::uint32_t kv = std::max(model.kv / gpus, 1U);
      const std::uint32_t q = model.q / gpus;
      if (q * gpus != model.q || (model.kv > gpus && model.kv % gpus != 0) || q % kv != 0) continue;
      if (known.emplace(q, kv).second) heads.push_back({q, kv});
    }
  }
  return heads;
}

namespace {

// Returns a number from `least` to `most`, small and large ones alike.
std::uint32_t any_size(std::mt19937& random, std::uint32_t least, std::uint32_t most) {
  const std::uint32_t limit = std::max(most >> (random() % 18), least);
  return least + static_cast<std::uint32_t>(random() % (limit - least + 1));
}

}  // namespace

AttentionProblem random_problem(std::mt19937& random, const BuiltinType& type, std::uint32_t page) {
  constexpr std::uint32_t windows[] = {128, 512, 1024, 4096};
  const std::vector<ModelHeads> models = model_heads(type);
  const ModelHeads heads = models[random() % models.size()];
  AttentionProblem problem;
  problem.data_type_k = problem.data_type_v = type.kv;
  problem.head_dim_qk = type.head_dim;
  problem.head_dim_v = type.latent() ? 512 : type.head_dim;
  problem.heads_q = heads.q;
  problem.heads_kv = heads.kv;
  problem.tokens_per_page = page;
  problem.q_len = random() % 2 == 0 ? 1 : 1 + static_cast<std::uint32_t>(random() % 8);
  problem.batch = any_size(random, 1, 256);
  problem.kv_len = any_size(random, problem.q_len, 131072);
  if (type.windows) problem.window = windows[random() % std::size(windows)];
  if (random() % 2 == 0) problem.kv_lengths.assign(problem.batch, static_cast<std::int32_t>(problem.kv_len));
  problem.sinks = type.windows;
  if (!type.latent() && random() % 2 == 0) {
    problem.append.emplace();
    problem.append->rope_dim = random() % 2 == 0 ? 0 : problem.head_dim_qk;
    problem.append->interleaved = random() % 4 == 0;
  }
  return problem;
}

KernelSpec KernelSet::resolved(const KernelSpec& spec) const {
  return ok(ok(catalog_.find(spec.name))->resolve(spec));
}

void KernelSet::add(const KernelSpec& spec, SmTarget target) {
  KernelSpec complete = resolved(spec);
  std::string text = complete.to_string();
  kernels_[target].emplace(std::move(text), std::move(complete));
}

bool KernelSet::has(const KernelSpec& spec, SmTarget target) const {
  const auto found = kernels_.find(target);
  return found != kernels_.end() && found->second.contains(resolved(spec).to_string());
}

std::size_t KernelSet::size() const {
  std::size_t all = 0;
  for (const auto& [target, kernels] : kernels_)
    all += kernels.size();
  return all;
}

std::size_t KernelSet::size(SmTarget target) const {
  const auto found = kernels_.find(target);
  return found == kernels_.end() ? 0 : found->second.size();
}

AvailableKernels KernelSet::available(const BuiltinDevice& device) const {
  DeviceRows rows;
  if (const auto found = kernels_.find(device.target); found != kernels_.end()) {
    for (const auto& [text, spec] : found->second) {
      const auto declared = ok(ok(catalog_.find(spec.name))->row(spec));
      if (!declared) continue;
      auto row = std::make_shared<KernelRow>(*declared);
      row->target = device.target;
      row->function_name = spec.name;
      row->digest = sha256(as_bytes(text));
      rows.rows.push_back({std::move(row), nullptr});
    }
  }
  return AvailableKernels::create(rows, device.facts.capability);
}

KernelSpec KernelSet::without_defaults(const KernelSpec& spec) const {
  KernelSpec shorter = spec;
  const auto kernel_template = ok(catalog_.find(spec.name));
  for (const ParameterDeclaration& parameter : kernel_template->parameters()) {
    if (parameter.name != "page_size" && parameter.default_value == spec.parameters.at(parameter.name))
      shorter.parameters.erase(parameter.name);
  }
  return shorter;
}

std::string KernelSet::matrix() const {
  // Kernels that differ in the page alone are one element, and so are the targets of equal
  // elements.
  std::map<std::string, std::map<SmTarget, std::set<std::int64_t>>> pages;
  std::map<std::string, nlohmann::json> elements;
  for (const auto& [target, kernels] : kernels_) {
    for (const auto& [text, spec] : kernels) {
      KernelSpec shorter = without_defaults(spec);
      const auto page = shorter.parameters.extract("page_size");
      const nlohmann::json described = describe(shorter);
      const nlohmann::json element = {{"template", described["template"]},
                                      {"parameters", described["parameters"]}};
      elements.emplace(element.dump(), element);
      auto& of_target = pages[element.dump()][target];
      if (!page.empty()) of_target.insert(std::get<std::int64_t>(page.mapped()));
    }
  }
  std::string text = "{\"kernels\": [";
  const char* separator = "\n";
  for (auto& [key, element] : elements) {
    std::map<std::set<std::int64_t>, std::vector<std::string>> targets;
    for (const auto& [target, of_target] : pages[key])
      targets[of_target].push_back(target.to_string());
    for (const auto& [of_targets, names] : targets) {
      if (!of_targets.empty()) element["parameters"]["page_size"] = of_targets;
      element["targets"] = names;
      text += separator + element.dump();
      separator = ",\n";
    }
  }
  return text + "\n]}\n";
}

KernelSet choose_builtin_kernels() {
  KernelSet kernels(ok(TemplateCatalog::builtin()));
  Choice choice(kernels);
  for (const BuiltinDevice& each : builtin_devices()) {
    add_other_kernels(kernels, each.target);
    for (const BuiltinType& type : builtin_types(each.target)) {
      for (const std::uint32_t page : existing_pages()) {
        KernelSet own(ok(TemplateCatalog::builtin()));
        for (const BuiltinDevice& device : grid_devices()) {
          if (device.target == each.target) choice.serve(device, type, page, own);
        }
      }
    }
  }
  return kernels;
}

}  // namespace cubinet::test
