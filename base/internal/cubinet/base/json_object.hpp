// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/json_value.hpp>

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

namespace cubinet {

// A reader of a JSON object. Every member must be read: finish() returns an error for the others,
// so that a misspelt member is an error. `where` names the object in messages ("parameter 'mask'").
// Errors have the line in `native`. Refers to the object, which must outlive it.
class JsonObject {
 public:
  static Result<JsonObject> open(const JsonValue& value, std::string where);

  bool has(std::string_view member) {
    known_.emplace(member);
    return object_->find(member) != nullptr;
  }
  // Returns the member, or an error if it is missing.
  Result<const JsonValue*> get(std::string_view member);
  Result<std::string> text(std::string_view member);
  Result<std::string> text_or(std::string_view member, std::string fallback);
  Result<std::int64_t> integer(std::string_view member);
  Result<std::int64_t> integer_or(std::string_view member, std::int64_t fallback);
  Result<bool> flag_or(std::string_view member, bool fallback);
  // Returns the items of a list, or none if the member is missing.
  Result<const JsonValue::List*> list_or_empty(std::string_view member);

  Result<void> finish() const;
  Error error(std::string_view reason) const { return error_of(*object_, reason); }
  // Returns an error about a member, or about the object if it lacks the member.
  Error error_at(std::string_view member, std::string_view reason) const;
  // Returns an error about a value in this object.
  Error error_of(const JsonValue& value, std::string_view reason) const;

 private:
  JsonObject(const JsonValue& object, std::string where) : object_(&object), where_(std::move(where)) {}

  const JsonValue* object_;
  std::string where_;
  std::set<std::string, std::less<>> known_;
};

}  // namespace cubinet
