// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/json_object.hpp>
#include <cubinet/base/text.hpp>

namespace cubinet {

Error JsonObject::error_of(const JsonValue& value, std::string_view reason) const {
  return Error{ErrorCode::invalid_argument, where_ + ": " + std::string(reason), {}, {}, value.line()};
}

Error JsonObject::error_at(std::string_view member, std::string_view reason) const {
  const JsonValue* value = object_->find(member);
  return error_of(value != nullptr ? *value : *object_, reason);
}

Result<JsonObject> JsonObject::open(const JsonValue& value, std::string where) {
  JsonObject object(value, std::move(where));
  if (value.is_object()) return object;
  Error error = object.error("");
  error.message = object.where_ + " is no JSON object";
  return error;
}

Result<const JsonValue*> JsonObject::get(std::string_view member) {
  known_.emplace(member);
  const JsonValue* value = object_->find(member);
  if (value != nullptr) return value;
  std::vector<std::string> others;
  for (const JsonMember& other : object_->members())
    if (!known_.contains(other.name)) others.push_back(other.name);
  const std::vector<std::string> near = nearest_names(member, others);
  return error("the member '" + std::string(member) + "' is missing" +
               (near.empty() ? "" : "; is it '" + printable(near.front(), kQuotedBytes) + "'?"));
}

Result<std::string> JsonObject::text(std::string_view member) {
  CUBINET_TRY_ASSIGN(const JsonValue* value, get(member));
  if (!value->is_text()) return error_at(member, "'" + std::string(member) + "' is no string");
  return value->text();
}

Result<std::string> JsonObject::text_or(std::string_view member, std::string fallback) {
  if (!has(member)) return fallback;
  return text(member);
}

Result<std::int64_t> JsonObject::integer(std::string_view member) {
  CUBINET_TRY_ASSIGN(const JsonValue* value, get(member));
  const auto integer = value->integer();
  if (!integer) return error_at(member, "'" + std::string(member) + "' is no 64-bit integer");
  return *integer;
}

Result<std::int64_t> JsonObject::integer_or(std::string_view member, std::int64_t fallback) {
  if (!has(member)) return fallback;
  return integer(member);
}

Result<bool> JsonObject::flag_or(std::string_view member, bool fallback) {
  if (!has(member)) return fallback;
  CUBINET_TRY_ASSIGN(const JsonValue* value, get(member));
  if (!value->is_flag()) return error_at(member, "'" + std::string(member) + "' is neither true nor false");
  return value->flag();
}

Result<const JsonValue::List*> JsonObject::list_or_empty(std::string_view member) {
  static const JsonValue::List kEmpty;
  if (!has(member)) return &kEmpty;
  CUBINET_TRY_ASSIGN(const JsonValue* value, get(member));
  if (!value->is_list()) return error_at(member, "'" + std::string(member) + "' is no array");
  return &value->items();
}

Result<void> JsonObject::finish() const {
  for (const JsonMember& member : object_->members()) {
    if (known_.contains(member.name)) continue;
    const auto near = nearest_first({known_.begin(), known_.end()}, member.name);
    return error_of(member.value, "there is no member '" + printable(member.name, kQuotedBytes) +
                                      (near.empty() ? "'" : "'; did you mean '" + near.front() + "'?"));
  }
  return {};
}

}  // namespace cubinet
