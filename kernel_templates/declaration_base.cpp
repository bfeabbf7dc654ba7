// SPDX-License-Identifier: Apache-2.0
#include "declaration_base.hpp"

#include "linked_parts.hpp"

#include <cubinet/base/json_object.hpp>
#include <cubinet/base/text.hpp>

#include <algorithm>
#include <array>

namespace cubinet {
namespace {

constexpr std::string_view kBase = "base";
constexpr std::string_view kParameters = "parameters";
constexpr std::string_view kConstraints = "constraints";
constexpr std::string_view kRow = "row";
constexpr std::array<std::string_view, 2> kDefaults = {"default", "default_expression"};

JsonValue copy_of(const JsonValue& value) {
  const long line = value.line();
  if (value.is_flag()) return JsonValue(value.flag(), line);
  if (const auto integer = value.integer()) return JsonValue(*integer, line);
  if (value.is_integer()) return JsonValue(static_cast<std::uint64_t>(std::stoull(value.literal())), line);
  if (value.is_number()) return JsonValue(value.number(), line);
  if (value.is_text()) return JsonValue(value.text(), line);
  if (value.is_list()) {
    JsonValue::List items;
    for (const JsonValue& item : value.items())
      items.push_back(copy_of(item));
    return JsonValue(std::move(items), line);
  }
  if (!value.is_object()) return JsonValue(std::monostate(), line);
  JsonValue::Members members;
  for (const JsonMember& member : value.members())
    members.push_back({member.name, copy_of(member.value)});
  return JsonValue(std::move(members), line);
}

JsonValue sorted_object(JsonValue::Members members, long line) {
  std::sort(members.begin(), members.end(),
            [](const JsonMember& a, const JsonMember& b) { return a.name < b.name; });
  return JsonValue(std::move(members), line);
}

// Returns an object with the members that it lacks of its base.
JsonValue extended_object(const JsonValue& own, const JsonValue& base) {
  JsonValue::Members members;
  for (const JsonMember& member : own.members())
    members.push_back({member.name, copy_of(member.value)});
  for (const JsonMember& member : base.members()) {
    if (own.find(member.name) == nullptr) members.push_back({member.name, copy_of(member.value)});
  }
  return sorted_object(std::move(members), own.line());
}

// A default of either kind replaces that of the base.
JsonValue extended_parameter(const JsonValue& own, const JsonValue& base) {
  const auto has = [&](std::string_view name) { return own.find(name) != nullptr; };
  if (std::none_of(kDefaults.begin(), kDefaults.end(), has)) return extended_object(own, base);
  JsonValue::Members members;
  for (const JsonMember& member : base.members()) {
    if (std::find(kDefaults.begin(), kDefaults.end(), member.name) == kDefaults.end())
      members.push_back({member.name, copy_of(member.value)});
  }
  return extended_object(own, JsonValue(std::move(members), base.line()));
}

// Returns the base's parameters with the members of the declaration's own, then the parameters that
// only the declaration has. A second parameter of one name is kept, so that it is refused.
JsonValue extended_parameters(const JsonValue::List& own, const JsonValue::List& base, long line) {
  JsonValue::List parameters;
  std::vector<bool> is_used(own.size());
  for (const JsonValue& inherited : base) {
    const std::string name = inherited.text_of("name");
    const auto found = std::find_if(own.begin(), own.end(), [&](const JsonValue& parameter) {
      return parameter.is_object() && parameter.text_of("name") == name;
    });
    if (found == own.end() || is_used[static_cast<std::size_t>(found - own.begin())]) {
      parameters.push_back(copy_of(inherited));
      continue;
    }
    is_used[static_cast<std::size_t>(found - own.begin())] = true;
    parameters.push_back(extended_parameter(*found, inherited));
  }
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (!is_used[i]) parameters.push_back(copy_of(own[i]));
  }
  return JsonValue(std::move(parameters), line);
}

JsonValue joined_list(const JsonValue::List& first, const JsonValue::List& second, long line) {
  JsonValue::List items;
  for (const JsonValue::List* list : {&first, &second}) {
    for (const JsonValue& item : *list)
      items.push_back(copy_of(item));
  }
  return JsonValue(std::move(items), line);
}

}  // namespace

Result<std::string> base_name_of(const JsonValue& declaration) {
  if (declaration.find(kBase) == nullptr) return std::string();
  CUBINET_TRY_ASSIGN(JsonObject object, JsonObject::open(declaration, "the declaration"));
  CUBINET_TRY_ASSIGN(std::string name, object.text(kBase));
  constexpr std::string_view ending = ".json";
  if (name.ends_with(ending) && is_file_name(name.substr(0, name.size() - ending.size()))) return name;
  return object.error_at(kBase, "'base': '" + printable(name, kQuotedBytes) +
                                    "' is no file beside the declaration: such a name ends with .json and "
                                    "has no folder");
}

Result<JsonValue> extended_declaration(const JsonValue& declaration, const JsonValue& base) {
  CUBINET_TRY_ASSIGN(JsonObject own, JsonObject::open(declaration, "the declaration"));
  CUBINET_TRY_ASSIGN(JsonObject inherited, JsonObject::open(base, "the base"));
  CUBINET_TRY_ASSIGN(const JsonValue::List* parameters, inherited.list_or_empty(kParameters));
  CUBINET_TRY_ASSIGN(const JsonValue::List* constraints, inherited.list_or_empty(kConstraints));
  CUBINET_TRY_ASSIGN(const JsonValue::List* own_parameters, own.list_or_empty(kParameters));
  CUBINET_TRY_ASSIGN(const JsonValue::List* own_constraints, own.list_or_empty(kConstraints));
  const JsonValue* row = inherited.has(kRow) ? base.find(kRow) : nullptr;
  if (row != nullptr && !row->is_object()) return inherited.error_at(kRow, "'row' is no JSON object");
  CUBINET_TRY(inherited.finish());

  const long line = declaration.line();
  JsonValue::Members members;
  for (const JsonMember& member : declaration.members()) {
    if (member.name == kBase || member.name == kParameters || member.name == kConstraints) continue;
    const bool extends = member.name == kRow && row != nullptr && member.value.is_object();
    members.push_back({member.name, extends ? extended_object(member.value, *row) : copy_of(member.value)});
  }
  if (row != nullptr && declaration.find(kRow) == nullptr)
    members.push_back({std::string(kRow), copy_of(*row)});
  members.push_back({std::string(kParameters), extended_parameters(*own_parameters, *parameters, line)});
  members.push_back({std::string(kConstraints), joined_list(*own_constraints, *constraints, line)});
  return sorted_object(std::move(members), line);
}

}  // namespace cubinet
