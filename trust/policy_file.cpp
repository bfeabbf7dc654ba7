// SPDX-License-Identifier: Apache-2.0
#include "policy_file.hpp"

#include "key_list.hpp"

#include <cubinet/base/json_object.hpp>
#include <cubinet/base/text.hpp>
#include <cubinet/trust/server_place.hpp>

namespace cubinet {
namespace {

struct PolicyReader {
  const std::string& name;
  const std::optional<KeySet>& home_keys;
  const std::string& versions_seen;

  Result<TrustPolicy> read(JsonObject& object) const;
  Result<void> read_trusted(JsonObject& object, TrustPolicy& policy) const;
};

Result<void> PolicyReader::read_trusted(JsonObject& object, TrustPolicy& policy) const {
  CUBINET_TRY_ASSIGN(const bool require_signed, object.flag_or("require_signed", true));
  if (!object.has("trusted_keys")) {
    if (object.has("threshold"))
      return object.error_at("threshold", "'threshold' stands without 'trusted_keys'");
    policy.threshold = require_signed ? 1 : 0;
    return {};
  }
  if (!require_signed)
    return object.error_at("require_signed",
                           "'require_signed' is false, and 'trusted_keys' names who has to sign");
  CUBINET_TRY_ASSIGN(const JsonValue* keys, object.get("trusted_keys"));
  if (keys->is_text() && keys->text() == "home") {
    if (object.has("threshold"))
      return object.error_at("threshold", "the home's key set has its own threshold");
    if (!home_keys) {
      return Error{ErrorCode::untrusted,
                   "'" + printable(name) + "' trusts the home's key set, and the home has none",
                   "install one with `KeySetTurn::first`"};
    }
    policy.trusted_keys = home_keys->keys;
    policy.threshold = home_keys->threshold;
    return {};
  }
  CUBINET_TRY_ASSIGN(policy.trusted_keys, read_keys(object, "trusted_keys"));
  CUBINET_TRY_ASSIGN(const std::int64_t threshold, object.integer_or("threshold", 1));
  if (threshold < 1 || static_cast<std::size_t>(threshold) > policy.trusted_keys.size())
    return object.error_at("threshold", "'threshold' is not from 1 to the number of keys");
  policy.threshold = static_cast<std::uint32_t>(threshold);
  return {};
}

Result<TrustPolicy> PolicyReader::read(JsonObject& object) const {
  TrustPolicy policy;
  CUBINET_TRY(read_trusted(object, policy));
  CUBINET_TRY_ASSIGN(const std::int64_t minimum, object.integer_or("minimum_version", 0));
  if (minimum < 0) return object.error_at("minimum_version", "'minimum_version' is below 0");
  policy.minimum_version = static_cast<std::uint64_t>(minimum);
  CUBINET_TRY_ASSIGN(policy.refuse_older, object.flag_or("refuse_older", true));
  CUBINET_TRY_ASSIGN(policy.local_only, object.flag_or("local_only", false));
  policy.versions_seen = versions_seen;
  policy.origin = name + ", line " + std::to_string(object.error("").native);
  CUBINET_TRY(object.finish());
  return policy;
}

// Returns an error if a location is not in its canonical form, because no requested location would
// ever equal it.
Result<void> check_place(const JsonObject& line, const std::string& place) {
  if (place == kBuiltinPlace) return {};
  if (!is_url(place)) {
    if (!place.starts_with('/')) return line.error_at("place", "'place' is neither absolute nor a URL");
    if (std::filesystem::path(place).lexically_normal().string() == place) return {};
    return line.error_at("place", "'place' has '.', '..' or a slash too many");
  }
  const bool is_prefix = place.ends_with('/');
  const auto parsed = is_prefix ? ServerPlace::parse_prefix(place) : ServerPlace::parse(place);
  if (!parsed) return line.error_at("place", "'place' names no server: " + parsed.error().message);
  const std::string canonical = parsed->to_string() + (is_prefix ? "/" : "");
  if (canonical == place) return {};
  return line.error_at("place", "'place' is not in its canonical form: write '" + canonical + "'");
}

Result<PolicyFile> read_policy(std::string_view text, const PolicyReader& reader) {
  CUBINET_TRY_ASSIGN(const JsonValue document, parse_json(text));
  CUBINET_TRY_ASSIGN(auto object, JsonObject::open(document, "the policy"));
  PolicyFile file;
  CUBINET_TRY_ASSIGN(const JsonValue::List* stores, object.list_or_empty("stores"));
  for (const JsonValue& store : *stores) {
    CUBINET_TRY_ASSIGN(auto line, JsonObject::open(store, "a store of the policy"));
    CUBINET_TRY_ASSIGN(std::string place, line.text("place"));
    CUBINET_TRY(check_place(line, place));
    for (const PolicyFile::Place& other : file.places) {
      if (other.place == place) return line.error_at("place", "'place' is that of another store");
    }
    CUBINET_TRY_ASSIGN(TrustPolicy policy, reader.read(line));
    file.places.push_back({std::move(place), std::move(policy)});
  }
  if (object.has("default")) {
    CUBINET_TRY_ASSIGN(const JsonValue* fallback, object.get("default"));
    CUBINET_TRY_ASSIGN(auto line, JsonObject::open(*fallback, "the policy's default"));
    CUBINET_TRY_ASSIGN(file.fallback, reader.read(line));
  }
  CUBINET_TRY(object.finish());
  return file;
}

}  // namespace

const TrustPolicy* PolicyFile::find(std::string_view place) const {
  const Place* best = nullptr;
  for (const Place& candidate : places) {
    const std::string_view line = candidate.place;
    if (line == place) return &candidate.policy;
    const bool holds =
        line.ends_with('/') && (place.starts_with(line) || line.substr(0, line.size() - 1) == place);
    if (holds && (best == nullptr || line.size() > best->place.size())) best = &candidate;
  }
  return best == nullptr ? nullptr : &best->policy;
}

Result<PolicyFile> parse_policy(std::string_view text, const std::string& name,
                                const std::optional<KeySet>& home_keys, const std::string& versions_seen) {
  auto file = read_policy(text, {name, home_keys, versions_seen});
  if (file || file.error().code != ErrorCode::invalid_argument) return file;
  Error error = std::move(file).error();
  error.message = "'" + printable(name) + "', line " + std::to_string(error.native) + ": " + error.message;
  return error;
}

}  // namespace cubinet
