// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/artifacts/artifact_import.hpp>
#include <cubinet/base/result.hpp>
#include <cubinet/cubin_registry/bundle.hpp>
#include <cubinet/cubin_registry/record_names.hpp>
#include <cubinet/cubin_registry/store.hpp>
#include <cubinet/session/builtin_bundle.hpp>
#include <cubinet/session/device_choice.hpp>
#include <cubinet/session/trust_report.hpp>
#include <cubinet/spec/cubin.hpp>
#include <cubinet/spec/kernel_spec.hpp>

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace cubinet {

// The JSON of the library's values. Public headers return it as text.

// Returns the text of a document: UTF-8, indented, with control and invisible characters escaped.
std::string json_text(const nlohmann::json& document);

// Returns {"error": {"code", "message", "remedy"}}, with "detail" (a compiler's log) if the error
// has one.
nlohmann::json error_document(const Error& error);

nlohmann::json describe(const KernelSpec& spec);  // {"template", "parameters"}, and "flags" if it has some
nlohmann::json describe(const EntryPoint& entry_point);
nlohmann::json describe(const StoreFinding& finding);  // {"kind", "file", "reason"}
nlohmann::json describe(const CubinRecord& record);    // a summary
nlohmann::json describe_fully(const CubinRecord& record);
// {"policy", "threshold", "signers", "builtin"}; null without a policy, {"builtin"} for the bundle
// of the library.
nlohmann::json describe(const TrustReport& report);
nlohmann::json describe(const BuiltinReport& report);  // {"root", "file", "used", "refused", "records"}

nlohmann::json describe(const std::vector<ImportReport::Outranked>& outranked);  // [{"imported", "in_use"}]
nlohmann::json describe(const std::vector<UnservedProblem>& unserved);           // [{"problem", "reason"}]
// {"count", "first": names, "details": [{"folder", "name", "reason"}]}
nlohmann::json describe(const ArtifactFindings& findings);

// Returns the kernel of a record as a printable line: the specification, or for a source
// "axpy<float, 4>, scale of axpy --std=c++20".
std::string kernel_title(const CubinRecord& record);

}  // namespace cubinet
