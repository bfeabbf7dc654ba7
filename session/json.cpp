// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/text.hpp>
#include <cubinet/kernel_templates/parameter_json.hpp>
#include <cubinet/session/json.hpp>

namespace cubinet {

std::string json_text(const nlohmann::json& document) {
  return printable_json(document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

nlohmann::json error_document(const Error& error) {
  nlohmann::json described = {
      {"code", to_string(error.code)}, {"message", error.message}, {"remedy", error.remedy}};
  if (!error.detail.empty()) described["detail"] = error.detail;
  return {{"error", std::move(described)}};
}

nlohmann::json describe(const KernelSpec& spec) {
  nlohmann::json parameters = nlohmann::json::object();
  for (const auto& [name, value] : spec.parameters)
    parameters[name] = to_json(value);
  nlohmann::json described = {{"template", spec.name}, {"parameters", std::move(parameters)}};
  if (!spec.options.empty()) described["flags"] = compiler_flags(spec.options);
  return described;
}

nlohmann::json describe(const EntryPoint& entry_point) {
  return {{"name", entry_point.name},
          {"symbol", entry_point.symbol},
          {"threads", entry_point.threads_of_block()},
          {"block", entry_point.block()},
          {"dynamic_shared_bytes", entry_point.dynamic_shared_bytes},
          {"parameter_bytes", entry_point.parameter_bytes},
          {"cluster", entry_point.cluster},
          {"programmatic_launch", entry_point.programmatic_launch},
          {"cooperative", entry_point.cooperative}};
}

nlohmann::json describe(const StoreFinding& finding) {
  return {{"kind", to_string(finding.kind)}, {"file", finding.file}, {"reason", finding.reason}};
}

std::string kernel_title(const CubinRecord& record) {
  const KernelSpec spec = spec_of(record);
  if (spec.maker != KernelMaker::source || record.entry_points.empty()) return printable(spec.to_string());
  return printable(join(kernel_names(record)) + " of " + spec.to_string());
}

nlohmann::json describe(const CubinRecord& record) {
  nlohmann::json described = describe(spec_of(record));
  described["names"] = kernel_names(record);
  described["key"] = record.identity.key().to_string();
  described["target"] = record.target_name();
  described["fingerprint"] = record.fingerprint.to_string();
  described["sha256"] = record.digest.to_hex();
  described["bytes"] = record.size;
  described["interface_version"] = record.interface_version;
  described["template_text"] = record.template_text == Sha256Digest{}
                                   ? nlohmann::json(nullptr)
                                   : nlohmann::json(record.template_text.to_hex());
  described["origin"] = to_string(record.origin);
  if (record.origin == CubinOrigin::bundle) described["bundle_version"] = record.version;
  if (record.origin == CubinOrigin::imported) described["import"] = record.version;
  return described;
}

nlohmann::json describe_fully(const CubinRecord& record) {
  nlohmann::json described = describe(record);
  described["encoding"] = to_hex(record.identity.encoding());
  described["compiler"] = record.compiler;
  described["options"] = record.options;
  described["warnings"] = record.warnings;
  nlohmann::json entry_points = nlohmann::json::array();
  for (const EntryPoint& entry_point : record.entry_points)
    entry_points.push_back(describe(entry_point));
  described["entry_points"] = std::move(entry_points);
  described["globals"] = record.globals;
  return described;
}

nlohmann::json describe(const TrustReport& report) {
  if (!report.policy && report.builtin) return {{"builtin", true}};
  if (!report.policy) return nullptr;
  nlohmann::json signers = nlohmann::json::array();
  for (const Signer& signer : report.signers) {
    signers.push_back(
        {{"id", signer.key.id()}, {"public_key", signer.key.to_string()}, {"comment", signer.comment}});
  }
  return {{"policy", report.policy->origin},
          {"threshold", report.policy->threshold},
          {"signers", std::move(signers)},
          {"builtin", report.builtin}};
}

nlohmann::json describe(const BuiltinReport& report) {
  return {{"root", report.root ? nlohmann::json(report.root->to_hex()) : nlohmann::json(nullptr)},
          {"file", report.file.empty() ? nlohmann::json(nullptr) : nlohmann::json(report.file)},
          {"used", report.bundle != nullptr},
          {"refused", report.refused},
          {"records", report.bundle != nullptr ? report.bundle->root().records : 0}};
}

nlohmann::json describe(const std::vector<ImportReport::Outranked>& outranked) {
  nlohmann::json described = nlohmann::json::array();
  for (const auto& [imported, in_use] : outranked)
    described.push_back({{"imported", describe(*imported)}, {"in_use", describe(*in_use)}});
  return described;
}

nlohmann::json describe(const std::vector<UnservedProblem>& unserved) {
  auto described = nlohmann::json::array();
  for (const auto& [text, reason] : unserved)
    described.push_back({{"problem", text}, {"reason", reason}});
  return described;
}

nlohmann::json describe(const ArtifactFindings& findings) {
  nlohmann::json names = nlohmann::json::array();
  nlohmann::json details = nlohmann::json::array();
  for (const ArtifactFinding& finding : findings.first) {
    names.push_back(finding.name);
    details.push_back(
        {{"folder", finding.folder.string()}, {"name", finding.name}, {"reason", finding.reason}});
  }
  return {{"count", findings.count}, {"first", std::move(names)}, {"details", std::move(details)}};
}

}  // namespace cubinet
