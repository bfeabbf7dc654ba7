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

// Watches the parser for what the library accepts and this format does not, and notes lines.
class Watch {
 public:
  using Event = json::parse_event_t;
  // Where a value stands, by the number of its parent among the places, and its own name or number there.
  struct Place {
    std::size_t parent;
    std::variant<std::string, std::size_t> step;
    long line;
  };

  explicit Watch(Reading& reading, bool notes_places = false)
      : reading_(&reading), notes_places_(notes_places) {}

  bool operator()(int depth, Event event, json& parsed) {
    if (static_cast<std::size_t>(depth) > kMaximumNesting) complain("it is nested too deeply");
    switch (event) {
      case Event::key:
        enter_member(parsed.get_ref<const std::string&>());
        break;
      case Event::object_start:
      case Event::array_start:
        begin(event == Event::array_start);
        break;
      case Event::object_end:
      case Event::array_end:
        if (!open_.empty()) open_.pop_back();
        break;
      case Event::value:
        if (!open_.empty() && open_.back().is_array) ++open_.back().elements;
        break;
    }
    return true;
  }

  const std::string& complaint() const { return complaint_; }
  long complaint_line() const { return complaint_line_; }
  const std::vector<Place>& places() const { return places_; }

 private:
  struct Open {
    std::size_t place;
    bool is_array;
    std::size_t elements = 0;
    std::set<std::string> members;
  };

  void complain(std::string complaint) {
    if (!complaint_.empty()) return;
    complaint_ = std::move(complaint);
    complaint_line_ = reading_->line();
  }

  void enter_member(const std::string& key) {
    if (open_.empty()) return;
    if (!open_.back().members.insert(key).second)
      complain("the member '" + printable(key, kQuotedBytes) + "' is repeated");
    note(open_.back().place, key);
  }

  template <class Step>
  void note(std::size_t parent, const Step& step) {
    if (!notes_places_) return;
    if (places_.size() == kMaximumPlaces) return complain("it has more than 100000 members");
    places_.push_back({parent, step, reading_->line()});
  }

  // A member has its place already.
  void begin(bool is_array) {
    if (open_.empty()) {
      note(0, std::size_t{0});
    } else if (open_.back().is_array) {
      note(open_.back().place, open_.back().elements++);
    }
    open_.push_back({places_.empty() ? 0 : places_.size() - 1, is_array, 0, {}});
  }

  Reading* reading_;
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

Result<json> parse(std::string_view text, Watch& watch, Reading& reading) {
  try {
    json value = json::parse(reading.begin(), reading.end(), std::ref(watch));
    if (!watch.complaint().empty()) return syntax_error(watch.complaint(), watch.complaint_line());
    return value;
  } catch (const json::parse_error& error) {
    const std::string_view what =
        error.what();  // "[json.exception.parse_error.101] parse error at line …: reason"
    const std::size_t reason = what.find(": ");
    const std::string_view before =
        text.substr(0, error.byte == 0 ? 0 : std::min(error.byte - 1, text.size()));
    return syntax_error(
        "it is no JSON: " +
            printable(reason == std::string_view::npos ? what : what.substr(reason + 2), kQuotedBytes),
        1 + std::count(before.begin(), before.end(), '\n'));
  } catch (const json::exception& error) {
    return syntax_error("it is no JSON: " + printable(error.what(), kQuotedBytes), reading.line());
  }
}

}  // namespace

Result<json> parse_strict_json(std::string_view text) {
  Reading reading(text);
  Watch watch(reading);
  return parse(text, watch, reading);
}

Result<JsonDocument> parse_json_document(std::string_view text) {
  Reading reading(text);
  Watch watch(reading, true);
  CUBINET_TRY_ASSIGN(json value, parse(text, watch, reading));
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
