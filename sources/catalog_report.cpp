// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/text.hpp>
#include <cubinet/sources/catalog_report.hpp>

#include <nlohmann/json.hpp>

#include <map>

namespace cubinet {
namespace {

std::map<std::string, std::size_t> kernels_by_target(const SourceManifest& catalog) {
  std::map<std::string, std::size_t> counts;
  for (const SourceKernel& kernel : catalog.kernels)
    ++counts[kernel.target.to_string()];
  return counts;
}

nlohmann::json describe_left(const std::vector<LeftManifest>& manifests) {
  nlohmann::json described = nlohmann::json::array();
  for (const LeftManifest& manifest : manifests) {
    described.push_back({{"manifest", manifest.file.string()},
                         {"code", to_string(manifest.reason.code)},
                         {"reason", manifest.reason.message}});
  }
  return described;
}

nlohmann::json describe_catalog(const SourceManifest& catalog) {
  nlohmann::json kernels = nlohmann::json::array();
  for (const SourceKernel& kernel : catalog.kernels) {
    kernels.push_back({{"name", kernel.name},
                       {"symbol", kernel.symbol},
                       {"target", kernel.target.to_string()},
                       {"block", kernel.block},
                       {"cluster", kernel.cluster},
                       {"dynamic_shared_bytes", kernel.dynamic_shared_bytes}});
  }
  return {{"name", catalog.name},
          {"library", catalog.library},
          {"targets", kernels_by_target(catalog)},
          {"licenses", catalog.licences.size()},
          {"differing_digests", catalog.differing_digests},
          {"kernels", std::move(kernels)}};
}

// Returns one line for each kernel: its name, target, block and shared memory.
std::string kernel_lines(const std::vector<SourceManifest>& catalogs) {
  std::string lines;
  for (const SourceManifest& catalog : catalogs) {
    for (const SourceKernel& kernel : catalog.kernels) {
      lines += kernel.name + "  " + kernel.target.to_string() + "  block " + std::to_string(kernel.block[0]) +
               "x" + std::to_string(kernel.block[1]) + "x" + std::to_string(kernel.block[2]) + "  shared " +
               std::to_string(kernel.dynamic_shared_bytes) + "\n";
    }
  }
  return lines;
}

void add_left(const char* kind, const std::vector<LeftManifest>& manifests, std::string& text) {
  for (const LeftManifest& manifest : manifests)
    text += std::string(kind) + printable_lines(manifest.reason.message) + "\n";
}

}  // namespace

std::string to_text(const SourceImportReport& report) {
  std::string text = report.lists_kernels ? kernel_lines(report.catalogs) : std::string();
  std::size_t kernels = 0;
  for (const SourceManifest& catalog : report.catalogs) {
    kernels += catalog.kernels.size();
    std::vector<std::string> counts;
    for (const auto& [target, count] : kernels_by_target(catalog))
      counts.push_back(std::to_string(count) + " for " + target);
    text += catalog.name + " of " + printable(catalog.library, kQuotedBytes) + ": " +
            plural(catalog.kernels.size(), "kernel") + " (" + join(counts) + ")";
    if (catalog.differing_digests > 0)
      text += "; " + plural(catalog.differing_digests, "digest") +
              " of its kernels differ from its list of files";
    text += "\n";
  }
  add_left("skipped: ", report.skipped, text);
  add_left("refused: ", report.refused, text);
  return text + plural(report.catalogs.size(), "catalog") + ", " + plural(kernels, "kernel") + ", " +
         plural(report.skipped.size(), "manifest") + " skipped, " + std::to_string(report.refused.size()) +
         " refused";
}

std::string to_json(const SourceImportReport& report) {
  nlohmann::json catalogs = nlohmann::json::array();
  std::size_t kernels = 0;
  for (const SourceManifest& catalog : report.catalogs) {
    catalogs.push_back(describe_catalog(catalog));
    kernels += catalog.kernels.size();
  }
  const nlohmann::json document = {{"catalogs", std::move(catalogs)},
                                   {"kernels", kernels},
                                   {"skipped", describe_left(report.skipped)},
                                   {"refused", describe_left(report.refused)}};
  return document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace cubinet
