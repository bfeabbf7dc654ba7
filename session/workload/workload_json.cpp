// SPDX-License-Identifier: Apache-2.0
#include "field_json.hpp"

#include <cubinet/kernel_templates/parameter_json.hpp>
#include <cubinet/session/workload_json.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace cubinet {
namespace {

using nlohmann::json;

constexpr std::string_view kMakers[] = {"template", "publisher", "function", "source", "tool"};

// Returns a value with its type. JSON has one type of number, so floats, doubles and their lists
// are objects.
json typed_json(const ParameterValue& value) {
  json plain = to_json(value);
  if (std::holds_alternative<float>(value)) return {{"float", std::move(plain)}};
  if (std::holds_alternative<double>(value)) return {{"double", std::move(plain)}};
  if (std::holds_alternative<std::vector<float>>(value)) return {{"floats", std::move(plain)}};
  if (std::holds_alternative<std::vector<double>>(value)) return {{"doubles", std::move(plain)}};
  return plain;
}

// Returns an error for a number that the type cannot hold: it would be infinite, which no identity
// has.
template <class Number>
Result<Number> number_within(double number) {
  if (std::abs(number) <= static_cast<double>(std::numeric_limits<Number>::max()))
    return static_cast<Number>(number);
  return Error{ErrorCode::invalid_argument, "a number exceeds the range of its type"};
}

template <class Number>
Result<ParameterValue> numbers_of(const JsonValue& list) {
  std::vector<Number> numbers;
  if (!list.is_list()) return Error{ErrorCode::invalid_argument, "no list of numbers"};
  for (const JsonValue& item : list.items()) {
    if (!item.is_number())
      return Error{ErrorCode::invalid_argument, "a list holds something else than numbers"};
    CUBINET_TRY_ASSIGN(numbers.emplace_back(), number_within<Number>(item.number()));
  }
  return ParameterValue(std::move(numbers));
}

Result<ParameterValue> typed_value_of(const JsonValue& value) {
  if (!value.is_object()) {
    CUBINET_TRY_ASSIGN(ParameterValue parsed, parameter_value_from_json(value));
    if (std::holds_alternative<double>(parsed) || std::holds_alternative<std::vector<double>>(parsed))
      return Error{ErrorCode::invalid_argument, "a number without its type, float or double"};
    return parsed;
  }
  if (value.members().size() == 1) {
    const auto& [type, number] = value.members().front();
    if (type == "floats") return numbers_of<float>(number);
    if (type == "doubles") return numbers_of<double>(number);
    if (type == "float" && number.is_number()) {
      CUBINET_TRY_ASSIGN(const float single, number_within<float>(number.number()));
      return ParameterValue(single);
    }
    if (type == "double" && number.is_number()) return ParameterValue(number.number());
  }
  return Error{ErrorCode::invalid_argument, "a value of an unknown type"};
}

}  // namespace

json spec_json(const KernelSpec& spec) {
  json parameters = json::object();
  for (const auto& [name, value] : spec.parameters)
    parameters[name] = typed_json(value);
  json described = {
      {"maker", to_string(spec.maker)}, {"name", spec.name}, {"parameters", std::move(parameters)}};
  if (!spec.options.empty()) described["compiler"] = json(spec.options);
  return described;
}

Result<KernelSpec> spec_of(const JsonValue& value, const std::string& where) {
  CUBINET_TRY_ASSIGN(JsonObject object, JsonObject::open(value, where));
  KernelSpec spec;
  CUBINET_TRY_ASSIGN(const std::string maker, object.text("maker"));
  const auto* const known = std::find(std::begin(kMakers), std::end(kMakers), maker);
  if (known == std::end(kMakers)) return object.error_at("maker", "the maker is not known");
  spec.maker = static_cast<KernelMaker>(known - std::begin(kMakers));
  CUBINET_TRY_ASSIGN(spec.name, object.text("name"));
  CUBINET_TRY_ASSIGN(const JsonValue* parameters, object.get("parameters"));
  if (!parameters->is_object()) return object.error_at("parameters", "the parameters are no object");
  for (const auto& [name, content] : parameters->members()) {
    auto parsed = typed_value_of(content);
    if (!parsed)
      return object.error_at("parameters", "the parameter " + name + ": " + parsed.error().message);
    spec.parameters[name] = *std::move(parsed);
  }
  if (object.has("compiler")) {
    CUBINET_TRY_ASSIGN(const JsonValue* options, object.get("compiler"));
    if (!options->is_object()) return object.error_at("compiler", "the compiler options are no object");
    for (const auto& [name, content] : options->members()) {
      if (!content.is_text())
        return object.error_at("compiler", "the compiler option " + name + " is no text");
      spec.options[name] = content.text();
    }
  }
  CUBINET_TRY(object.finish());
  return spec;
}

namespace {

json options_json(const PlanOptions& options) {
  PlanOptions plain = options;
  FieldWriter writer;
  visit_fields(writer, plain);
  json described = std::move(writer.object);
  if (options.kernel) described["kernel"] = spec_json(*options.kernel);
  if (options.targets.pinned) described["pinned"] = options.targets.pinned->to_string();
  if (options.targets.prefers_family) described["prefers_family"] = true;
  for (const SmTarget target : options.targets.forbidden)
    described["forbidden"].push_back(target.to_string());
  return described;
}

Result<PlanOptions> options_of(const JsonValue& value) {
  CUBINET_TRY_ASSIGN(JsonObject object, JsonObject::open(value, "the options"));
  PlanOptions options;
  FieldReader reader(object);
  visit_fields(reader, options);
  CUBINET_TRY(reader.result());
  if (object.has("kernel")) {
    CUBINET_TRY_ASSIGN(const JsonValue* kernel, object.get("kernel"));
    CUBINET_TRY_ASSIGN(options.kernel, spec_of(*kernel, "the kernel of the options"));
  }
  if (object.has("pinned")) {
    CUBINET_TRY_ASSIGN(const std::string pinned, object.text("pinned"));
    CUBINET_TRY_ASSIGN(options.targets.pinned, SmTarget::parse(pinned));
  }
  CUBINET_TRY_ASSIGN(options.targets.prefers_family, object.flag_or("prefers_family", false));
  CUBINET_TRY_ASSIGN(const JsonValue::List* forbidden, object.list_or_empty("forbidden"));
  for (const JsonValue& item : *forbidden) {
    if (!item.is_text()) return object.error_at("forbidden", "the forbidden targets are no list of names");
    CUBINET_TRY_ASSIGN(options.targets.forbidden.emplace_back(), SmTarget::parse(item.text()));
  }
  CUBINET_TRY(object.finish());
  CUBINET_TRY(check(options.targets));
  return options;
}

json problem_json(const AttentionProblem& problem) {
  AttentionProblem plain = problem;
  FieldWriter writer;
  visit_fields(writer, plain);
  if (plain.append) {
    FieldWriter append;
    visit_fields(append, *plain.append);
    writer.object["append"] = std::move(append.object);
  }
  return std::move(writer.object);
}

Result<AttentionProblem> problem_of(const JsonValue& value) {
  CUBINET_TRY_ASSIGN(JsonObject object, JsonObject::open(value, "the problem"));
  AttentionProblem problem;
  FieldReader reader(object);
  visit_fields(reader, problem);
  CUBINET_TRY(reader.result());
  if (object.has("append")) {
    CUBINET_TRY_ASSIGN(const JsonValue* content, object.get("append"));
    CUBINET_TRY_ASSIGN(JsonObject append, JsonObject::open(*content, "the append"));
    FieldReader append_reader(append);
    visit_fields(append_reader, problem.append.emplace());
    CUBINET_TRY(append_reader.result());
    CUBINET_TRY(append.finish());
  }
  CUBINET_TRY(object.finish());
  CUBINET_TRY(check_problem(problem));
  return problem;
}

json device_json(const WorkloadDevice& device) {
  json described = {{"capability", device.capability.to_string()}};
  if (device.sm_count != 0) described["sm_count"] = device.sm_count;
  if (device.maximum_shared_bytes != 0) described["shared_bytes"] = device.maximum_shared_bytes;
  if (!device.name.empty()) described["name"] = device.name;
  return described;
}

Result<WorkloadDevice> device_of(const JsonValue& value) {
  CUBINET_TRY_ASSIGN(JsonObject object, JsonObject::open(value, "a device"));
  WorkloadDevice device;
  CUBINET_TRY_ASSIGN(const std::string capability, object.text("capability"));
  CUBINET_TRY_ASSIGN(device.capability, ComputeCapability::parse(capability));
  FieldReader reader(object);
  if (object.has("sm_count")) reader("sm_count", device.sm_count);
  if (object.has("shared_bytes")) reader("shared_bytes", device.maximum_shared_bytes);
  if (object.has("name")) reader("name", device.name);
  CUBINET_TRY(reader.result());
  CUBINET_TRY(object.finish());
  return device;
}

Result<std::set<WorkloadDevice>> devices_of(JsonObject& object) {
  CUBINET_TRY_ASSIGN(const JsonValue::List* list, object.list_or_empty("devices"));
  std::set<WorkloadDevice> devices;
  for (const JsonValue& item : *list) {
    CUBINET_TRY_ASSIGN(WorkloadDevice device, device_of(item));
    devices.insert(std::move(device));
  }
  if (devices.empty()) return object.error_at("devices", "the list of devices is empty");
  return devices;
}

}  // namespace

json work_json(const WorkloadEntry& entry) {
  if (const auto* spec = std::get_if<KernelSpec>(&entry.work)) return {{"kernel", spec_json(*spec)}};
  const auto& attention = std::get<WorkloadAttention>(entry.work);
  return {{"attention", problem_json(attention.problem)}, {"options", options_json(attention.options)}};
}

json entry_json(const WorkloadEntry& entry) {
  json described = work_json(entry);
  described["order"] = entry.first_use;
  for (const WorkloadDevice& device : entry.devices)
    described["devices"].push_back(device_json(device));
  return described;
}

Result<WorkloadEntry> entry_of(const JsonValue& line) {
  CUBINET_TRY_ASSIGN(JsonObject object, JsonObject::open(line, "the line"));
  WorkloadEntry entry;
  if (object.has("kernel")) {
    CUBINET_TRY_ASSIGN(const JsonValue* kernel, object.get("kernel"));
    CUBINET_TRY_ASSIGN(entry.work, spec_of(*kernel, "the kernel"));
  } else {
    CUBINET_TRY_ASSIGN(const JsonValue* problem, object.get("attention"));
    CUBINET_TRY_ASSIGN(const JsonValue* options, object.get("options"));
    WorkloadAttention attention;
    CUBINET_TRY_ASSIGN(attention.problem, problem_of(*problem));
    CUBINET_TRY_ASSIGN(attention.options, options_of(*options));
    entry.work = std::move(attention);
  }
  FieldReader reader(object);
  reader("order", entry.first_use);
  CUBINET_TRY(reader.result());
  CUBINET_TRY_ASSIGN(entry.devices, devices_of(object));
  CUBINET_TRY(object.finish());
  return entry;
}

json recording_json(const std::string& id, const WorkloadRecording& counters) {
  WorkloadRecording plain = counters;
  FieldWriter writer;
  visit_fields(writer, plain);
  writer.object["recording"] = id;
  return std::move(writer.object);
}

Result<std::pair<std::string, WorkloadRecording>> recording_of(const JsonValue& line) {
  CUBINET_TRY_ASSIGN(JsonObject object, JsonObject::open(line, "the recording"));
  std::pair<std::string, WorkloadRecording> recording;
  CUBINET_TRY_ASSIGN(recording.first, object.text("recording"));
  const bool valid = recording.first.size() == 32 &&
                     recording.first.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!valid) return object.error_at("recording", "the identifier of a recording has 32 hexadecimal digits");
  FieldReader reader(object);
  visit_fields(reader, recording.second);
  CUBINET_TRY(reader.result());
  CUBINET_TRY(object.finish());
  return recording;
}

std::string first_line_text(std::uint64_t lines) {
  return line_text({{"cubinet_workload", kWorkloadVersion}, {"lines", lines}});
}

std::string line_text(const json& line) {
  return line.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace cubinet
