// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/text.hpp>
#include <cubinet/base/units.hpp>
#include <cubinet/report/kernel_list.hpp>
#include <cubinet/report/store_sections.hpp>
#include <cubinet/session/trust_report.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace cubinet {
namespace {

// The answer to the question who made a bundle.
Fact signature_fact(const TrustReport& trust) {
  if (trust.builtin && !trust.policy)
    return {"Signed", "Built in", "the library knows its digest", Tone::good};
  if (!trust.policy)
    return {"Signed", "Not verified", "no policy says whose signatures count", Tone::warning};
  if (trust.signers.empty()) return {"Signed", "Not signed", "the policy allows it", Tone::warning};
  return {"Signed", "Verified",
          fmt::format("{} of {} wanted", trust.signers.size(), plural(trust.policy->threshold, "signature")),
          Tone::good};
}

Fact expiry_fact(const BundleOptions& options, std::int64_t now) {
  if (options.expires == 0) return {"Expires", "Never", ""};
  const auto expires = static_cast<std::int64_t>(std::min<std::uint64_t>(options.expires, INT64_MAX));
  const bool is_over = expires <= now;
  return {"Expires", is_over ? "Expired" : "In time", format_utc(expires), is_over ? Tone::bad : Tone::good};
}

Html bundle_tiles(const BundleRoot& root, const TrustReport& trust, std::size_t foreign, std::int64_t now) {
  const double packed = root.image_bytes == 0
                            ? 1
                            : static_cast<double>(root.file_bytes) / static_cast<double>(root.image_bytes);
  return fact_tiles(
      {signature_fact(trust),
       {"Builds", format_count(root.records), plural(root.images, "image")},
       {"File", format_bytes(root.file_bytes),
        fmt::format("{} of {} unpacked", format_percent(packed), format_bytes(root.image_bytes))},
       {"Cannot be used here", format_count(foreign),
        foreign == 0 ? "all fit the templates of this library" : "other versions of templates",
        foreign == 0 ? Tone::good : Tone::bad},
       expiry_fact(root.options, now)});
}

Html row_of(std::string_view label, const Html& value) {
  return element("div", element("dt", label) + element("dd", value));
}

Html bundle_facts(const BundleRoot& root, const TrustReport& trust) {
  const BundleOptions& options = root.options;
  Html rows;
  for (const Signer& signer : trust.signers) {
    Html value = element("code", signer.key.to_string());
    if (!signer.comment.empty()) value += Html(" ") + name_html(signer.comment);
    rows += row_of("Signed by", value);
  }
  if (trust.policy) rows += row_of("Policy", name_html(trust.policy->origin));
  rows += row_of("Channel", options.channel.empty() ? Html("none") : name_html(options.channel));
  rows += row_of("Version", std::to_string(options.version));
  const auto created = static_cast<std::int64_t>(std::min<std::uint64_t>(options.created, INT64_MAX));
  rows += row_of("Created", created == 0 ? "not stated" : format_utc(created));
  rows += row_of("Profile", to_string(options.profile));
  rows += row_of("Targets", name_html(join(root.targets)));
  rows += row_of("Made with", name_html(join(root.toolchain, "; ")));
  return element("dl", {{"class", "details"}}, rows);
}

}  // namespace

Result<Section> bundle_section(const SessionOptions& session, const std::shared_ptr<Store>& store,
                               const std::shared_ptr<Bundle>& bundle, std::int64_t now) {
  CUBINET_TRY_ASSIGN(const CubinRecords records, store->list());
  CUBINET_TRY_ASSIGN(const auto runtime, runtime_over(session, {store}));
  std::vector<ListedKernel> kernels;
  std::size_t foreign = 0;
  for (const auto& record : records) {
    kernels.push_back({judged_build(*runtime, record)});
    foreign += kernels.back().judged.outdated() ? 1U : 0U;
  }
  const TrustReport trust = TrustReport::of(*bundle);
  const KernelListOptions options{false, now};
  Section section{"Bundle", store->description().place, {}};
  section.content += bundle_tiles(bundle->root(), trust, foreign, now);
  section.content += bundle_facts(bundle->root(), trust);
  section.content += kernel_charts(kernels, options);
  section.content += kernel_table(kernels, options);
  return section;
}

}  // namespace cubinet
