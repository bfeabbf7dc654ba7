// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace cubinet {

struct JsonMember;

// A value of a JSON text, with everything it contains. Move-only: neither a move nor the destructor
// allocates.
class JsonValue {
 public:
  using List = std::vector<JsonValue>;
  using Members = std::vector<JsonMember>;
  // An integer is stored as std::uint64_t only if it exceeds std::int64_t.
  using Content =
      std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string, List, Members>;

  // These functions are defined below JsonMember because Clang instantiates them at their
  // definition, with a complete type.
  inline JsonValue();  // null
  inline explicit JsonValue(Content content, long line = 0);
  inline JsonValue(JsonValue&& other) noexcept;
  inline JsonValue& operator=(JsonValue&& other) noexcept;
  JsonValue(const JsonValue&) = delete;
  JsonValue& operator=(const JsonValue&) = delete;
  inline ~JsonValue();

  bool is_flag() const { return std::holds_alternative<bool>(content_); }
  bool is_integer() const {
    return std::holds_alternative<std::int64_t>(content_) || std::holds_alternative<std::uint64_t>(content_);
  }
  bool is_number() const { return is_integer() || std::holds_alternative<double>(content_); }
  bool is_text() const { return std::holds_alternative<std::string>(content_); }
  bool is_list() const { return std::holds_alternative<List>(content_); }
  bool is_object() const { return std::holds_alternative<Members>(content_); }

  // REQUIRES: the value is of this type.
  bool flag() const { return std::get<bool>(content_); }
  double number() const;
  const std::string& text() const { return std::get<std::string>(content_); }
  const List& items() const { return std::get<List>(content_); }
  const Members& members() const { return std::get<Members>(content_); }  // ascending by name
  // Returns nullopt unless the value is an integer of 64 bits.
  std::optional<std::int64_t> integer() const;
  // Returns the JSON literal of a value that is not text, a list or an object.
  std::string literal() const;

  // Returns the member of this name, or nullptr if there is none or this is not an object.
  const JsonValue* find(std::string_view name) const;
  // Returns the member of this name if it is text, and "" otherwise.
  std::string text_of(std::string_view name) const;

  // Returns the line of the text, counted from 1, where the value or the name of its member begins.
  long line() const { return line_; }

 private:
  Content content_;
  long line_ = 0;
};

struct JsonMember {
  std::string name;
  JsonValue value;
};

JsonValue::JsonValue() = default;
JsonValue::JsonValue(Content content, long line) : content_(std::move(content)), line_(line) {}
JsonValue::JsonValue(JsonValue&&) noexcept = default;
JsonValue& JsonValue::operator=(JsonValue&&) noexcept = default;
JsonValue::~JsonValue() = default;

// Parses a JSON text (RFC 8259). Returns an error also for a repeated member, a depth above 8, more
// than a million values, or anything after the value. Such an invalid_argument has the line,
// counted from 1, in `native`.
Result<JsonValue> parse_json(std::string_view text);

// Returns the text as a JSON string, in quotes. Bytes that are not UTF-8 become U+FFFD.
std::string quoted_json(std::string_view text);

}  // namespace cubinet
