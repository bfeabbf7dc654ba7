// SPDX-License-Identifier: Apache-2.0
#include "key_list.hpp"

#include <cubinet/base/binary_format.hpp>
#include <cubinet/base/json_object.hpp>
#include <cubinet/base/text.hpp>
#include <cubinet/trust/key_set.hpp>

#include <algorithm>

namespace cubinet {
namespace {

constexpr std::string_view kKeySetType = "cubinet key set";
constexpr BinaryFormat kKeySetFormat{"a home's key set", "CSET", 1, 1,
                                     "install the set again with `KeySetTurn::first`"};

Bytes encode_key_set(ByteView text) {
  ByteWriter writer;
  kKeySetFormat.write_head(writer);
  writer.string(as_text(text));
  write_checksum(writer);
  return writer.take();
}

// Returns the text of the home's set.
Result<std::optional<std::string>> stored_text(FileSystem& files, const std::filesystem::path& home) {
  const auto file = files.read_own(key_set_path(home), kMaximumKeySetBytes + 1024);
  if (!file && file.error().code == ErrorCode::not_found) return std::optional<std::string>();
  if (!file) return file.error();
  CUBINET_TRY_ASSIGN(auto fields, kKeySetFormat.read_checked(file->content));
  CUBINET_TRY_ASSIGN(std::string text, fields.reader.string());
  if (fields.reader.remaining() > 0) return kKeySetFormat.damaged("has bytes after its end");
  return std::optional<std::string>(std::move(text));
}

}  // namespace

TrustPolicy KeySet::policy(std::string origin) const {
  TrustPolicy policy;
  policy.trusted_keys = keys;
  policy.threshold = threshold;
  policy.origin = std::move(origin);
  return policy;
}

Result<KeySet> parse_key_set(std::string_view text) {
  CUBINET_TRY_ASSIGN(const JsonValue document, parse_json(text));
  CUBINET_TRY_ASSIGN(auto object, JsonObject::open(document, "the key set"));
  KeySet set;
  // A key also signs bundles. The type distinguishes a set from other signed content.
  CUBINET_TRY_ASSIGN(const std::string type, object.text("type"));
  if (type != kKeySetType) return object.error_at("type", "'type' is not 'cubinet key set'");
  CUBINET_TRY_ASSIGN(const std::int64_t version, object.integer("version"));
  if (version < 1) return object.error_at("version", "'version' is below 1");
  set.version = static_cast<std::uint64_t>(version);
  CUBINET_TRY_ASSIGN(set.keys, read_keys(object, "keys"));
  CUBINET_TRY_ASSIGN(const std::int64_t threshold, object.integer("threshold"));
  if (threshold < 1 || static_cast<std::size_t>(threshold) > set.keys.size())
    return object.error_at("threshold", "'threshold' is not from 1 to the number of keys");
  set.threshold = static_cast<std::uint32_t>(threshold);
  CUBINET_TRY(object.finish());
  return set;
}

std::filesystem::path key_set_path(const std::filesystem::path& home) {
  return home / "trust" / "key_set";
}

std::filesystem::path versions_seen_path(const std::filesystem::path& home) {
  return home / "trust" / "seen";
}

Result<std::optional<KeySet>> read_key_set(FileSystem& files, const std::filesystem::path& home) {
  CUBINET_TRY_ASSIGN(const auto text, stored_text(files, home));
  if (!text) return std::optional<KeySet>();
  CUBINET_TRY_ASSIGN(KeySet set, parse_key_set(*text));
  return std::optional<KeySet>(std::move(set));
}

Result<KeySet> update_key_set(FileSystem& files, const std::filesystem::path& home, const std::string& what,
                              ByteView text, const SignatureSource& signatures, KeySetTurn turn) {
  const auto path = key_set_path(home);
  CUBINET_TRY(files.create_directories(path.parent_path(), FileSystem::Mode::shared));
  files.guard(home);
  CUBINET_TRY_ASSIGN(const auto lock, files.lock(path.parent_path() / "key_set.lock"));
  if (lock == nullptr)
    return Error{ErrorCode::busy, "another process changes the key set of '" + home.string() + "'"};
  CUBINET_TRY_ASSIGN(const auto there, stored_text(files, home));
  if (there) {
    CUBINET_TRY_ASSIGN(KeySet current, parse_key_set(*there));
    if (*there == as_text(text)) return current;
    if (turn == KeySetTurn::first) {
      return Error{
          ErrorCode::invalid_argument,
          "the home has key set " + std::to_string(current.version) + " already: another one is no first one",
          "install it with `KeySetTurn::next`"};
    }
    // The signatures are verified before the content is parsed.
    CUBINET_TRY(verify_signatures(current.policy("the home's key set " + std::to_string(current.version)),
                                  what, text, signatures));
    CUBINET_TRY_ASSIGN(const KeySet next, parse_key_set(as_text(text)));
    if (next.version != current.version + 1) {
      return Error{ErrorCode::untrusted,
                   what + " is key set " + std::to_string(next.version) + ", and the home's is " +
                       std::to_string(current.version),
                   next.version > current.version
                       ? "take in key set " + std::to_string(current.version + 1) + " first"
                       : "an older one, or another of the same version, is never taken"};
    }
  } else if (turn == KeySetTurn::next) {
    return Error{ErrorCode::not_found, "'" + home.string() + "' has no key set that could vouch for this one",
                 "if you know that it is the right one, install it with `KeySetTurn::first`"};
  }
  CUBINET_TRY_ASSIGN(KeySet next, parse_key_set(as_text(text)));
  CUBINET_TRY(verify_signatures(next.policy("its own keys"), what, text, signatures));
  CUBINET_TRY(write_file_atomically(files, path, encode_key_set(text)));
  return next;
}

}  // namespace cubinet
