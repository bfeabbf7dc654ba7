// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/json_object.hpp>
#include <cubinet/base/text.hpp>

#include <algorithm>
#include <vector>

namespace cubinet {
namespace {

using nlohmann::json;

constexpr std::size_t kMaximumNesting = 8;

Error syntax_error(std::string reason, std::string_view before) {
  Error error{ErrorCode::invalid_argument, std::move(reason)};
  error.native = static_cast<long>(1 + std::count(before.begin(), before.end(), '\n'));
  return error;
}

// Watches the parser for what the library accepts and this format does not.
struct StrictnessWatch {
  std::vector<std::set<std::string>> open_objects;
  std::string complaint;

  bool operator()(int depth, json::parse_event_t event, json& parsed) {
    if (static_cast<std::size_t>(depth) > kMaximumNesting) complaint = "it is nested too deeply";
    if (event == json::parse_event_t::object_start) open_objects.emplace_back();
    if (event == json::parse_event_t::object_end && !open_objects.empty()) open_objects.pop_back();
    if (event == json::parse_event_t::key && !open_objects.empty()) {
      const auto& key = parsed.get_ref<const std::string&>();
      if (!open_objects.back().insert(key).second)
        complaint = "the member '" + printable(key, kQuotedBytes) + "' is repeated";
    }
    return true;
  }
};

}  // namespace

Result<json> parse_strict_json(std::string_view text) {
  StrictnessWatch watch;
  try {
    json value = json::parse(text.begin(), text.end(), std::ref(watch));
    if (!watch.complaint.empty()) return syntax_error(watch.complaint, {});
    return value;
  } catch (const json::parse_error& error) {
    const std::string_view what =
        error.what();  // "[json.exception.parse_error.101] parse error at line …: reason"
    const std::size_t reason = what.find(": ");
    return syntax_error(
        "it is no JSON: " +
            printable(reason == std::string_view::npos ? what : what.substr(reason + 2), kQuotedBytes),
        text.substr(0, error.byte == 0 ? 0 : std::min(error.byte - 1, text.size())));
  } catch (const json::exception& error) {
    return syntax_error("it is no JSON: " + printable(error.what(), kQuotedBytes), {});
  }
}

Error JsonObject::error(std::string_view reason) const {
  return Error{ErrorCode::invalid_argument, where_ + ": " + std::string(reason)};
}

Result<JsonObject> JsonObject::open(const json& value, std::string where) {
  if (!value.is_object()) return Error{ErrorCode::invalid_argument, where + " is no JSON object"};
  return JsonObject(value, std::move(where));
}

Result<const json*> JsonObject::get(std::string_view member) {
  known_.emplace(member);
  const auto found = object_->find(member);
  if (found == object_->end()) return error("the member '" + std::string(member) + "' is missing");
  return &*found;
}

Result<std::string> JsonObject::text(std::string_view member) {
  CUBINET_TRY_ASSIGN(const json* value, get(member));
  if (!value->is_string()) return error("'" + std::string(member) + "' is no string");
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
    return error("'" + std::string(member) + "' is no 64-bit integer");
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
  if (!value->is_boolean()) return error("'" + std::string(member) + "' is neither true nor false");
  return value->get<bool>();
}

Result<const json*> JsonObject::array_or_empty(std::string_view member) {
  static const json kEmpty = json::array();
  if (!has(member)) return &kEmpty;
  CUBINET_TRY_ASSIGN(const json* value, get(member));
  if (!value->is_array()) return error("'" + std::string(member) + "' is no array");
  return value;
}

Result<void> JsonObject::finish() const {
  for (const auto& [member, value] : object_->items()) {
    if (known_.contains(member)) continue;
    const std::vector<std::string> names(known_.begin(), known_.end());
    return error("there is no member '" + printable(member, kQuotedBytes) + "'; did you mean '" +
                 nearest_first(names, member).front() + "'?");
  }
  return {};
}

}  // namespace cubinet
