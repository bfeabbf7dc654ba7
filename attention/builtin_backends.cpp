// SPDX-License-Identifier: Apache-2.0
// The built-in backends, in the order in which `auto` queries them, and the operation classes of
// the templates. A new backend and a new class are added here.
#include "published/published_backend.hpp"
#include "templates/decode/decode_operation.hpp"
#include "templates/prefill/prefill_operation.hpp"
#include "templates/template_backend.hpp"

#include <cubinet/attention/backend.hpp>

#include <algorithm>

namespace cubinet {
namespace {

bool always(const PlanRequest&) {
  return true;
}

bool published_rows_run(const PlanRequest& request) {
  const auto tables = request.kernels.tables(kPublishedImplementation);
  return request.options.assumes_all_kernels ||
         std::any_of(tables.begin(), tables.end(),
                     [](const auto& table) { return !table->numbers().empty(); });
}

bool on_hopper(const PlanRequest& request) {
  return request.device.capability == ComputeCapability{9, 0};
}

bool prompts_on_hopper(const PlanRequest& request) {
  return request.problem.prefill && on_hopper(request);
}

std::vector<BackendRule> builtin_rules() {
  const std::string templates(kTemplatesBackend);
  const std::string published(kPublishedBackend);
  return {
      {"prompts, compute capability 9.0",
       prompts_on_hopper,
       {templates, published},
       "docs/kernels/attention_prefill.md: measured on one H200; no published kernel was"},
      {"compute capability 9.0",
       on_hopper,
       {templates, published},
       "bench/results/attention_table.json: on one H200, level with FlashInfer or faster in all twelve "
       "cases"},
      {"published rows run on the device",
       published_rows_run,
       {published, templates},
       "made for the device by its vendor, whose own choice they are; not measured by us"},
      {"otherwise", always, {templates, published}, "no published row runs on the device"},
  };
}

}  // namespace

Result<AttentionBackends> AttentionBackends::builtin() {
  AttentionBackends backends;
  CUBINET_TRY_ASSIGN(std::shared_ptr<const AttentionBackend> templates,
                     make_template_backend({decode_operation(), prefill_operation()}));
  CUBINET_TRY(backends.add(std::move(templates)));
  CUBINET_TRY(backends.add(make_published_backend()));
  backends.rules_ = builtin_rules();
  return backends;
}

}  // namespace cubinet
