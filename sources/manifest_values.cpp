// SPDX-License-Identifier: Apache-2.0
#include "manifest_values.hpp"

#include <limits>

namespace cubinet {
namespace {

Result<std::uint32_t> in_range(std::optional<std::int64_t> value, const JsonObject& object,
                               std::string_view member) {
  if (value && *value >= 0 && *value < std::numeric_limits<std::uint32_t>::max())
    return static_cast<std::uint32_t>(*value);
  return object.error_at(member, "'" + std::string(member) + "' is out of range");
}

}  // namespace

Result<std::vector<std::string>> read_texts(JsonObject& object, std::string_view member) {
  std::vector<std::string> texts;
  CUBINET_TRY_ASSIGN(const JsonValue::List* items, object.list_or_empty(member));
  for (const JsonValue& item : *items) {
    if (!item.is_text())
      return object.error_at(member, "'" + std::string(member) + "' has an item that is no string");
    texts.push_back(item.text());
  }
  return texts;
}

Result<std::array<std::uint32_t, 3>> read_extents(JsonObject& object, std::string_view member) {
  CUBINET_TRY_ASSIGN(const JsonValue::List* items, object.list_or_empty(member));
  std::array<std::uint32_t, 3> extents{};
  if (items->size() != extents.size())
    return object.error_at(member, "'" + std::string(member) + "' is no list of three numbers");
  for (std::size_t i = 0; i < extents.size(); ++i) {
    CUBINET_TRY_ASSIGN(extents[i], in_range((*items)[i].integer(), object, member));
  }
  return extents;
}

Result<std::uint32_t> read_bytes(JsonObject& object, std::string_view member) {
  CUBINET_TRY_ASSIGN(const std::int64_t value, object.integer(member));
  return in_range(value, object, member);
}

Result<SmTarget> read_target(JsonObject& object, std::string_view member) {
  CUBINET_TRY_ASSIGN(const std::string text, object.text(member));
  auto target = SmTarget::parse(text);
  if (!target) return object.error_at(member, target.error().message);
  return target;
}

Result<SourceFile> read_listed_file(JsonObject& object) {
  SourceFile file;
  CUBINET_TRY_ASSIGN(file.path, object.text("path"));
  CUBINET_TRY_ASSIGN(const std::string hex, object.text("sha256"));
  auto digest = Sha256Digest::parse(hex);
  if (!digest) return object.error_at("sha256", "'sha256' is no SHA-256");
  file.digest = *digest;
  return file;
}

}  // namespace cubinet
