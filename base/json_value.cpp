// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/json_value.hpp>
#include <cubinet/base/text.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <set>
#include <vector>

namespace cubinet {
namespace {

using nlohmann::json;

constexpr std::size_t kMaximumNesting = 8;
constexpr std::size_t kMaximumValues = 1'000'000;

Error syntax_error(std::string reason, long line) {
  Error error{ErrorCode::invalid_argument, std::move(reason)};
  error.native = line;
  return error;
}

// The text that the parser reads. Its iterators track the parser's position, which the parser does
// not report.
class Reading {
 public:
  explicit Reading(std::string_view text) : text_(text) {}

  struct Iterator {
    using iterator_category = std::input_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char*;
    using reference = const char&;

    const char* at;
    Reading* reading;

    reference operator*() const { return *at; }
    Iterator& operator++() {
      reading->taken_ = ++at;
      return *this;
    }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.at == b.at; }
  };
  Iterator begin() { return {text_.data(), this}; }
  Iterator end() { return {text_.data() + text_.size(), this}; }

  // Returns the line of the last character taken.
  long line() {
    const char* last = taken_ == nullptr ? text_.data() : taken_ - 1;
    line_ += std::count(counted_, std::max(last, counted_), '\n');
    counted_ = std::max(last, counted_);
    return line_;
  }

 private:
  std::string_view text_;
  const char* taken_ = nullptr;  // the next character
  const char* counted_ = text_.data();
  long line_ = 1;
};

// A SAX handler that builds a value. It rejects input that the parser accepts but this format does
// not.
class TreeBuilder final : public json::json_sax_t {
 public:
  explicit TreeBuilder(std::string_view text) : text_(text), reading_(text) {}

  Result<JsonValue> run() {
    if (json::sax_parse(reading_.begin(), reading_.end(), this)) return std::move(root_);
    return syntax_error(complaint_, complaint_line_);
  }

  bool null() override { return add({}); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(std::int64_t{value}); }
  bool number_unsigned(number_unsigned_t value) override {
    if (value <= static_cast<std::uint64_t>(INT64_MAX)) return add(static_cast<std::int64_t>(value));
    return add(std::uint64_t{value});
  }
  bool number_float(number_float_t value, const string_t& /*text*/) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t& /*value*/) override { return complain("it holds binary data"); }
  bool start_object(std::size_t /*size*/) override { return begin(JsonValue::Members()); }
  bool start_array(std::size_t /*size*/) override { return begin(JsonValue::List()); }
  bool end_array() override { return end(); }

  bool end_object() override {
    auto& members = std::get<JsonValue::Members>(open_.back().content);
    std::sort(members.begin(), members.end(),
              [](const JsonMember& a, const JsonMember& b) { return a.name < b.name; });
    return end();
  }

  bool key(string_t& name) override {
    Open& object = open_.back();
    if (!object.names.insert(name).second)
      return complain("the member '" + printable(name, kQuotedBytes) + "' is repeated");
    object.member = std::move(name);
    object.member_line = reading_.line();
    return true;
  }

  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const json::exception& error) override {
    // The text is "[json.exception.parse_error.101] parse error at line …: reason".
    const std::string_view what = error.what();
    const std::size_t named = what.find(": ");  // absent for a number that is too large
    const std::size_t reason = named == std::string_view::npos ? what.find("] ") : named;
    complaint_ = "it is no JSON: " +
                 printable(reason == std::string_view::npos ? what : what.substr(reason + 2), kQuotedBytes);
    const std::string_view before =
        text_.substr(0, std::min(std::max<std::size_t>(position, 1) - 1, text_.size()));
    complaint_line_ = 1 + std::count(before.begin(), before.end(), '\n');
    return false;
  }

 private:
  // A list or an object that has not ended.
  struct Open {
    JsonValue::Content content;
    long line = 0;
    std::string member{};  // the name of the next member
    long member_line = 0;
    std::set<std::string> names{};
  };

  bool complain(std::string complaint) {
    complaint_ = std::move(complaint);
    complaint_line_ = reading_.line();
    return false;
  }

  bool is_admitted() {
    if (open_.size() > kMaximumNesting) return complain("it is nested too deeply");
    return ++values_ <= kMaximumValues || complain("it has more than 1000000 values");
  }

  // Returns the line of the value that begins here, or of its name if it has one.
  long line() {
    const bool is_member = !open_.empty() && std::holds_alternative<JsonValue::Members>(open_.back().content);
    return is_member ? open_.back().member_line : reading_.line();
  }

  bool add(JsonValue::Content content) {
    return is_admitted() && attach({JsonValue(std::move(content), line())});
  }

  bool begin(JsonValue::Content content) {
    if (!is_admitted()) return false;
    const long first = line();
    open_.push_back({std::move(content), first});
    return true;
  }

  bool end() {
    JsonValue value(std::move(open_.back().content), open_.back().line);
    open_.pop_back();
    return attach(std::move(value));
  }

  bool attach(JsonValue value) {
    if (open_.empty()) {
      root_ = std::move(value);
    } else if (auto* list = std::get_if<JsonValue::List>(&open_.back().content)) {
      list->push_back(std::move(value));
    } else {
      std::get<JsonValue::Members>(open_.back().content)
          .push_back({std::move(open_.back().member), std::move(value)});
    }
    return true;
  }

  std::string_view text_;
  Reading reading_;
  std::vector<Open> open_;
  JsonValue root_;
  std::size_t values_ = 0;
  std::string complaint_;
  long complaint_line_ = 0;
};

}  // namespace

Result<JsonValue> parse_json(std::string_view text) {
  // The parser treats a zero byte as the end of the text and ignores everything after it.
  if (const std::size_t zero = text.find('\0'); zero != std::string_view::npos)
    return syntax_error("it is no JSON: it holds a zero byte",
                        1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(zero), '\n'));
  // The parser skips it.
  if (text.starts_with("\xEF\xBB\xBF"))
    return syntax_error("it is no JSON: it begins with a byte order mark; save it without one", 1);
  try {
    return TreeBuilder(text).run();
  } catch (const json::exception& error) {
    return syntax_error("it is no JSON: " + printable(error.what(), kQuotedBytes), 1);
  }
}

double JsonValue::number() const {
  if (const auto* integer = std::get_if<std::int64_t>(&content_)) return static_cast<double>(*integer);
  if (const auto* large = std::get_if<std::uint64_t>(&content_)) return static_cast<double>(*large);
  return std::get<double>(content_);
}

std::optional<std::int64_t> JsonValue::integer() const {
  const auto* integer = std::get_if<std::int64_t>(&content_);
  return integer != nullptr ? std::optional(*integer) : std::nullopt;
}

std::string JsonValue::literal() const {
  if (const auto* flag = std::get_if<bool>(&content_)) return *flag ? "true" : "false";
  if (const auto* integer = std::get_if<std::int64_t>(&content_)) return std::to_string(*integer);
  if (const auto* large = std::get_if<std::uint64_t>(&content_)) return std::to_string(*large);
  if (const auto* number = std::get_if<double>(&content_)) {
    std::array<char, 32> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), *number).ptr;
    return {text.data(), end};
  }
  return "null";
}

const JsonValue* JsonValue::find(std::string_view name) const {
  const auto* members = std::get_if<Members>(&content_);
  if (members == nullptr) return nullptr;
  const auto found = std::lower_bound(
      members->begin(), members->end(), name,
      [](const JsonMember& member, std::string_view wanted) { return member.name < wanted; });
  return found != members->end() && found->name == name ? &found->value : nullptr;
}

std::string JsonValue::text_of(std::string_view name) const {
  const JsonValue* value = find(name);
  return value != nullptr && value->is_text() ? value->text() : "";
}

std::string quoted_json(std::string_view text) {
  return json(text).dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace cubinet
