// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/json_object.hpp>
#include <cubinet/base/text.hpp>

#include <algorithm>
#include <iterator>
#include <variant>
#include <vector>

namespace cubinet {
namespace {

using nlohmann::json;

constexpr std::size_t kMaximumNesting = 8;
constexpr std::size_t kMaximumPlaces = 100'000;  // of a document whose lines are asked for

Error syntax_error(std::string reason, long line) {
  Error error{ErrorCode::invalid_argument, std::move(reason)};
  error.native = line;
  return error;
}

// A text as the parser takes it, which tells nobody how far it is: these do.
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

  // Of the character that was taken last.
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

// Judges a text before a value is made of it: what the library accepts and this format does not, and lines.
class Watch final : public json::json_sax_t {
 public:
  // Where a value stands, by the number of its parent among the places, and its own name or number there.
  struct Place {
    std::size_t parent;
    std::variant<std::string, std::size_t> step;
    long line;
  };

  Watch(std::string_view text, bool notes_places)
      : text_(text), reading_(text), notes_places_(notes_places) {}

  Result<void> run() {
    if (json::sax_parse(reading_.begin(), reading_.end(), this)) return {};
    return syntax_error(complaint_, complaint_line_);
  }
  const std::vector<Place>& places() const { return places_; }

  bool null() override { return element(); }
  bool boolean(bool /*value*/) override { return element(); }
  bool number_integer(number_integer_t /*value*/) override { return element(); }
  bool number_unsigned(number_unsigned_t /*value*/) override { return element(); }
  bool number_float(number_float_t /*value*/, const string_t& /*text*/) override { return element(); }
  bool string(string_t& /*value*/) override { return element(); }
  bool binary(binary_t& /*value*/) override { return element(); }
  bool start_object(std::size_t /*size*/) override { return begin(false); }
  bool start_array(std::size_t /*size*/) override { return begin(true); }
  bool end_object() override { return end(); }
  bool end_array() override { return end(); }

  bool key(string_t& name) override {
    if (!open_.back().members.insert(name).second)
      return complain("the member '" + printable(name, kQuotedBytes) + "' is repeated");
    return note(open_.back().place, name);
  }

  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const json::exception& error) override {
    // "[json.exception.parse_error.101] parse error at line …: reason"
    const std::string_view what = error.what();
    const std::size_t named = what.find(": ");  // not in one of a number that is too large
    const std::size_t reason = named == std::string_view::npos ? what.find("] ") : named;
    complaint_ = "it is no JSON: " +
                 printable(reason == std::string_view::npos ? what : what.substr(reason + 2), kQuotedBytes);
    const std::string_view before =
        text_.substr(0, std::min(std::max<std::size_t>(position, 1) - 1, text_.size()));
    complaint_line_ = 1 + std::count(before.begin(), before.end(), '\n');
    return false;
  }

 private:
  struct Open {
    std::size_t place;
    bool is_array;
    std::size_t elements = 0;
    std::set<std::string> members{};
  };

  bool complain(std::string complaint) {
    complaint_ = std::move(complaint);
    complaint_line_ = reading_.line();
    return false;
  }

  // A member has its place already.
  bool element() {
    if (open_.size() > kMaximumNesting) return complain("it is nested too deeply");
    if (open_.empty()) return note(0, std::size_t{0});
    return !open_.back().is_array || note(open_.back().place, open_.back().elements++);
  }

  bool note(std::size_t parent, std::variant<std::string, std::size_t> step) {
    if (!notes_places_) return true;
    if (places_.size() == kMaximumPlaces) return complain("it has more than 100000 values");
    places_.push_back({parent, std::move(step), reading_.line()});
    return true;
  }

  bool begin(bool is_array) {
    if (!element()) return false;
    open_.push_back({places_.empty() ? 0 : places_.size() - 1, is_array});
    return true;
  }

  bool end() {
    open_.pop_back();
    return true;
  }

  std::string_view text_;
  Reading reading_;
  bool notes_places_;
  std::vector<Open> open_;
  std::vector<Place> places_;
  std::string complaint_;
  long complaint_line_ = 0;
};

JsonLines lines_of(const json& root, const std::vector<Watch::Place>& places) {
  JsonLines lines;
  std::vector<const json*> values;  // by place; a parent stands before what it holds
  for (const Watch::Place& place : places) {
    const json* value = &root;
    if (!values.empty()) {
      const json& parent = *values[place.parent];
      const auto* member = std::get_if<std::string>(&place.step);
      value = member != nullptr ? &parent.at(*member) : &parent.at(std::get<std::size_t>(place.step));
    }
    values.push_back(value);
    lines.emplace(value, place.line);
  }
  return lines;
}

// Without the library's callback, which takes quadratic time over the objects of an array.
Result<json> parse(std::string_view text, Watch& watch) {
  // The library ends at a zero byte as it does at the end of the text, and ignores what follows.
  if (const std::size_t zero = text.find('\0'); zero != std::string_view::npos)
    return syntax_error("it is no JSON: it holds a zero byte",
                        1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(zero), '\n'));
  try {
    CUBINET_TRY(watch.run());
    return json::parse(text.begin(), text.end());
  } catch (const json::exception& error) {
    return syntax_error("it is no JSON: " + printable(error.what(), kQuotedBytes), 1);
  }
}

}  // namespace

Result<json> parse_strict_json(std::string_view text) {
  Watch watch(text, false);
  return parse(text, watch);
}

Result<JsonDocument> parse_json_document(std::string_view text) {
  Watch watch(text, true);
  CUBINET_TRY_ASSIGN(json value, parse(text, watch));
  JsonDocument document{std::make_unique<const json>(std::move(value)), {}};
  document.lines = lines_of(*document.value, watch.places());
  return document;
}

Error JsonObject::error_of(const json& value, std::string_view reason) const {
  Error error{ErrorCode::invalid_argument, where_ + ": " + std::string(reason)};
  if (lines_ == nullptr) return error;
  auto line = lines_->find(&value);
  if (line == lines_->end()) line = lines_->find(object_);
  if (line != lines_->end()) error.native = line->second;
  return error;
}

Error JsonObject::error_at(std::string_view member, std::string_view reason) const {
  const auto found = object_->find(member);
  return error_of(found == object_->end() ? *object_ : *found, reason);
}

Result<JsonObject> JsonObject::open(const json& value, std::string where, const JsonLines* lines) {
  JsonObject object(value, std::move(where), lines);
  if (value.is_object()) return object;
  Error error = object.error("");
  error.message = object.where_ + " is no JSON object";
  return error;
}

Result<const json*> JsonObject::get(std::string_view member) {
  known_.emplace(member);
  const auto found = object_->find(member);
  if (found == object_->end()) return error("the member '" + std::string(member) + "' is missing");
  return &*found;
}

Result<std::string> JsonObject::text(std::string_view member) {
  CUBINET_TRY_ASSIGN(const json* value, get(member));
  if (!value->is_string()) return error_at(member, "'" + std::string(member) + "' is no string");
  return value->get_ref<const std::string&>();
}

Result<std::string> JsonObject::text_or(std::string_view member, std::string fallback) {
  if (!has(member)) return fallback;
  return text(member);
}

Result<std::int64_t> JsonObject::integer(std::string_view member) {
  CUBINET_TRY_ASSIGN(const json* value, get(member));
  if (!value->is_number_integer() ||
      (value->is_number_unsigned() && value->get<std::uint64_t>() > INT64_MAX)) {
    return error_at(member, "'" + std::string(member) + "' is no 64-bit integer");
  }
  return value->get<std::int64_t>();
}

Result<std::int64_t> JsonObject::integer_or(std::string_view member, std::int64_t fallback) {
  if (!has(member)) return fallback;
  return integer(member);
}

Result<bool> JsonObject::flag_or(std::string_view member, bool fallback) {
  if (!has(member)) return fallback;
  CUBINET_TRY_ASSIGN(const json* value, get(member));
  if (!value->is_boolean())
    return error_at(member, "'" + std::string(member) + "' is neither true nor false");
  return value->get<bool>();
}

Result<const json*> JsonObject::array_or_empty(std::string_view member) {
  static const json kEmpty = json::array();
  if (!has(member)) return &kEmpty;
  CUBINET_TRY_ASSIGN(const json* value, get(member));
  if (!value->is_array()) return error_at(member, "'" + std::string(member) + "' is no array");
  return value;
}

Result<void> JsonObject::finish() const {
  for (const auto& [member, value] : object_->items()) {
    if (known_.contains(member)) continue;
    const auto near = nearest_first({known_.begin(), known_.end()}, member);
    return error_of(value, "there is no member '" + printable(member, kQuotedBytes) +
                               (near.empty() ? "'" : "'; did you mean '" + near.front() + "'?"));
  }
  return {};
}

}  // namespace cubinet
