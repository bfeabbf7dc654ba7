// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>

#include <nlohmann/json.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace cubinet {

// On which line of the text each member begins, and each value of an array; from 1 on. By the address of the
// value: it has to stay where it is.
using JsonLines = std::map<const nlohmann::json*, long>;

// Parses JSON text. Stricter than the library: a repeated member, a depth over 8, a zero byte and anything
// after the value are errors too (invalid_argument, with the line, from 1 on, in `native`).
Result<nlohmann::json> parse_strict_json(std::string_view text);

// The same with its lines; of at most 100000 values.
struct JsonDocument {
  std::unique_ptr<const nlohmann::json> value;
  JsonLines lines;
};
Result<JsonDocument> parse_json_document(std::string_view text);

// One JSON object of which every member has to be asked for: finish() refuses those that nobody did, so that
// a misspelt member does not pass. `where` names the object in messages ("parameter 'mask'"). Does not own
// the object, which must outlive it, and neither the lines, which its errors hold in `native` where there are
// some.
class JsonObject {
 public:
  static Result<JsonObject> open(const nlohmann::json& value, std::string where,
                                 const JsonLines* lines = nullptr);
  // An object within this one.
  Result<JsonObject> inner(const nlohmann::json& value, std::string where) const {
    return open(value, std::move(where), lines_);
  }

  bool has(std::string_view member) {
    known_.emplace(member);
    return object_->contains(member);
  }
  // The member; an error when it is missing.
  Result<const nlohmann::json*> get(std::string_view member);
  Result<std::string> text(std::string_view member);
  Result<std::string> text_or(std::string_view member, std::string fallback);
  Result<std::int64_t> integer(std::string_view member);
  Result<std::int64_t> integer_or(std::string_view member, std::int64_t fallback);
  Result<bool> flag_or(std::string_view member, bool fallback);
  Result<const nlohmann::json*> array_or_empty(std::string_view member);

  Result<void> finish() const;
  Error error(std::string_view reason) const { return error_of(*object_, reason); }
  // Of a member, or of a value in this object, whose line is told.
  Error error_at(std::string_view member, std::string_view reason) const;
  Error error_of(const nlohmann::json& value, std::string_view reason) const;

 private:
  JsonObject(const nlohmann::json& object, std::string where, const JsonLines* lines)
      : object_(&object), lines_(lines), where_(std::move(where)) {}

  const nlohmann::json* object_;
  const JsonLines* lines_;
  std::string where_;
  std::set<std::string, std::less<>> known_;
};

}  // namespace cubinet
