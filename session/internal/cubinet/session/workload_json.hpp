// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/json_value.hpp>
#include <cubinet/session/workload.hpp>

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>

namespace cubinet {

// The JSON of a workload's lines (docs/formats/workload.md). Reading returns invalid_argument with
// the member that is missing, unknown or wrong.

// Write and read a specification.
nlohmann::json spec_json(const KernelSpec& spec);
Result<KernelSpec> spec_of(const JsonValue& value, const std::string& where);

// Returns {"kernel"} or {"attention", "options"}. Equal work has equal text.
nlohmann::json work_json(const WorkloadEntry& entry);
// Returns work_json() with the devices and the order.
nlohmann::json entry_json(const WorkloadEntry& entry);
Result<WorkloadEntry> entry_of(const JsonValue& line);

nlohmann::json recording_json(const std::string& id, const WorkloadRecording& counters);
Result<std::pair<std::string, WorkloadRecording>> recording_of(const JsonValue& line);

// The newest version of workloads, which is written.
inline constexpr std::int64_t kWorkloadVersion = 1;
// Returns the text of the first line. `lines` follow it; 0 if lines are still appended.
std::string first_line_text(std::uint64_t lines);

// Returns the text of a line, without the newline.
std::string line_text(const nlohmann::json& line);

}  // namespace cubinet
