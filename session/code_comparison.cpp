// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/byte_stream.hpp>
#include <cubinet/base/text.hpp>
#include <cubinet/session/code_comparison.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>

namespace cubinet {
namespace {

Sha256Digest launch_of(const EntryPoint& entry) {
  ByteWriter writer;
  for (const std::uint32_t dimension : entry.block())
    writer.u32(dimension);
  writer.u32(entry.dynamic_shared_bytes);
  writer.u32(entry.parameter_bytes);
  for (const std::uint32_t dimension : entry.cluster)
    writer.u32(dimension);
  writer.u8(entry.programmatic_launch ? 1 : 0);
  writer.u8(entry.cooperative ? 1 : 0);
  return sha256(writer.take());
}

std::vector<std::string> differing_parts(const CodeParts& first, const CodeParts& second) {
  std::vector<std::string> parts;
  for (const auto& [part, digest] : first) {
    const auto there = second.find(part);
    if (there == second.end() || there->second != digest) parts.push_back(part);
  }
  for (const auto& [part, digest] : second) {
    if (!first.contains(part)) parts.push_back(part);
  }
  return parts;
}

using Kernels = std::map<std::pair<Bytes, ImageKind>, CubinRecords>;

Result<Kernels> kernels_of(Bundle& bundle) {
  CUBINET_TRY_ASSIGN(const CubinRecords records, bundle.list());
  Kernels kernels;
  for (const auto& record : records)
    kernels[{record->identity.encoding(), record->kind}].push_back(record);
  return kernels;
}

Result<std::vector<CubinCode>> codes_of(const Bundle& bundle, const CubinRecords& builds) {
  std::vector<CubinCode> codes;
  for (const auto& build : builds) {
    CUBINET_TRY_ASSIGN(codes.emplace_back(), code_of_build(bundle, build));
  }
  return codes;
}

// Returns the differences between the first build that has no equal in the other bundle and the
// first build of the other bundle.
std::vector<CodeDifference> compare_builds(const std::vector<CubinCode>& first,
                                           const std::vector<CubinCode>& second) {
  const auto has = [](const std::vector<CubinCode>& codes, const CubinCode& code) {
    return std::any_of(codes.begin(), codes.end(),
                       [&](const CubinCode& each) { return compare_code(each, code).empty(); });
  };
  for (const CubinCode& code : first) {
    if (!has(second, code)) return compare_code(code, second.front());
  }
  for (const CubinCode& code : second) {
    if (!has(first, code)) return compare_code(first.front(), code);
  }
  return {};
}

}  // namespace

Result<CodeComparison> compare_code(Bundle& first, Bundle& second) {
  CUBINET_TRY_ASSIGN(const Kernels there, kernels_of(first));
  CUBINET_TRY_ASSIGN(const Kernels here, kernels_of(second));
  CodeComparison comparison;
  for (const auto& [kernel, builds] : there) {
    const auto other = here.find(kernel);
    if (other == here.end()) {
      comparison.only_in_first.push_back(builds.front());
      continue;
    }
    CUBINET_TRY_ASSIGN(const auto codes, codes_of(first, builds));
    CUBINET_TRY_ASSIGN(const auto other_codes, codes_of(second, other->second));
    auto differences = compare_builds(codes, other_codes);
    if (differences.empty()) {
      comparison.same.push_back(other->second.front());
    } else {
      comparison.changed.emplace_back(other->second.front(), std::move(differences));
    }
  }
  for (const auto& [kernel, builds] : here) {
    if (!there.contains(kernel)) comparison.only_in_second.push_back(builds.front());
  }
  return comparison;
}

Result<CubinCode> code_of_build(const Bundle& bundle, const std::shared_ptr<const CubinRecord>& record) {
  CubinCode code;
  if (record->kind != ImageKind::cubin) {
    code.module.emplace("image", record->digest);
    return code;
  }
  CUBINET_TRY_ASSIGN(const Cubin cubin, bundle.read(record));
  CUBINET_TRY_ASSIGN(code, read_cubin_code(*cubin.image));
  for (const EntryPoint& entry : record->entry_points) {
    auto kernel = code.kernels.extract(entry.symbol);
    if (kernel.empty()) continue;
    kernel.key() = entry.name;
    kernel.mapped().emplace("launch", launch_of(entry));
    code.kernels.insert(std::move(kernel));
  }
  return code;
}

std::vector<CodeDifference> compare_code(const CubinCode& first, const CubinCode& second) {
  std::vector<CodeDifference> differences;
  for (const auto& [kernel, parts] : first.kernels) {
    const auto there = second.kernels.find(kernel);
    if (there == second.kernels.end()) {
      differences.push_back({kernel, {"only in first"}});
    } else if (auto differing = differing_parts(parts, there->second); !differing.empty()) {
      differences.push_back({kernel, std::move(differing)});
    }
  }
  for (const auto& [kernel, parts] : second.kernels) {
    if (!first.kernels.contains(kernel)) differences.push_back({kernel, {"only in second"}});
  }
  if (auto differing = differing_parts(first.module, second.module); !differing.empty())
    differences.push_back({"", std::move(differing)});
  return differences;
}

nlohmann::json describe(const std::vector<CodeDifference>& differences) {
  nlohmann::json described = nlohmann::json::array();
  for (const CodeDifference& difference : differences) {
    described.push_back(
        {{"kernel", difference.kernel.empty() ? nlohmann::json() : nlohmann::json(difference.kernel)},
         {"parts", difference.parts}});
  }
  return described;
}

std::string to_text(const std::vector<CodeDifference>& differences) {
  std::vector<std::string> texts;
  for (const CodeDifference& difference : differences) {
    const std::string name = difference.kernel.empty() ? "module" : printable(difference.kernel);
    texts.push_back(name + ": " + join(difference.parts, ", "));
  }
  return join(texts, "; ");
}

}  // namespace cubinet
