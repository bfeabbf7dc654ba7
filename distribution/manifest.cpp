// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/json_value.hpp>
#include <cubinet/base/text.hpp>
#include <cubinet/distribution/manifest.hpp>

namespace cubinet {
namespace {

constexpr const char* kEmptyMediaType = "application/vnd.oci.empty.v1+json";
constexpr const char* kTitle = "org.opencontainers.image.title";
constexpr std::size_t kMaximumLayers = 1000;

// Returns a descriptor. Its members are ordered by name, as in the whole manifest.
std::string descriptor_json(std::string_view media_type, const BlobDescriptor& blob,
                            const std::string& title) {
  const std::string annotations =
      title.empty() ? "" : R"("annotations":{)" + quoted_json(kTitle) + ":" + quoted_json(title) + "},";
  return "{" + annotations + R"("digest":"sha256:)" + blob.digest.to_hex() + R"(","mediaType":)" +
         quoted_json(media_type) + R"(,"size":)" + std::to_string(blob.size) + "}";
}

// Returns nullopt unless the value is a descriptor. Ignores other members of an image manifest,
// because other programs write them.
std::optional<Manifest::Layer> read_layer(const JsonValue& value) {
  const JsonValue* size = value.find("size");
  const auto bytes = size != nullptr ? size->integer() : std::nullopt;
  const JsonValue* media_type = value.find("mediaType");
  if (!bytes || *bytes < 0 || media_type == nullptr || !media_type->is_text()) return std::nullopt;
  const std::string text = value.text_of("digest");
  if (!text.starts_with("sha256:")) return std::nullopt;
  const auto parsed = Sha256Digest::parse(std::string_view(text).substr(7));
  if (!parsed) return std::nullopt;
  Manifest::Layer layer{media_type->text(), {*parsed, static_cast<std::uint64_t>(*bytes)}, {}};
  if (const JsonValue* annotations = value.find("annotations")) layer.title = annotations->text_of(kTitle);
  return layer;
}

}  // namespace

ByteView empty_configuration() {
  return as_bytes("{}");
}

std::string to_json(const Manifest& manifest) {
  std::vector<std::string> annotations;
  for (const auto& [name, text] : manifest.annotations)
    annotations.push_back(quoted_json(name) + ":" + quoted_json(text));
  std::vector<std::string> layers;
  for (const Manifest::Layer& layer : manifest.layers)
    layers.push_back(descriptor_json(layer.media_type, layer.blob, layer.title));
  return "{" + (annotations.empty() ? "" : R"("annotations":{)" + join(annotations, ",") + "},") +
         R"("artifactType":)" + quoted_json(manifest.artifact_type) + R"(,"config":)" +
         descriptor_json(kEmptyMediaType, describe_blob(empty_configuration()), {}) + R"(,"layers":[)" +
         join(layers, ",") + R"(],"mediaType":)" + quoted_json(kManifestMediaType) + R"(,"schemaVersion":2})";
}

Result<Manifest> parse_manifest(std::string_view text, const std::string& where) {
  const auto refused = [&](const std::string& reason) {
    return Error{ErrorCode::corruption, where + " is no manifest of an image: " + reason};
  };
  if (text.size() > kMaximumManifest) return refused("it has more than 4 MiB");
  const auto parsed = parse_json(text);
  if (!parsed) return refused(parsed.error().message);
  const JsonValue& value = *parsed;
  if (!value.is_object()) return refused("it is no object");
  const std::string media_type = value.text_of("mediaType");
  if (media_type != kManifestMediaType)
    return refused("its media type is '" + printable(media_type, kQuotedBytes) + "'");
  const JsonValue* layers = value.find("layers");
  if (layers == nullptr || !layers->is_list() || layers->items().size() > kMaximumLayers)
    return refused("it has no list of at most 1000 layers");
  Manifest manifest;
  manifest.artifact_type = value.text_of("artifactType");
  for (const JsonValue& each : layers->items()) {
    auto layer = read_layer(each);
    if (!layer) return refused("a layer has no type, size and SHA-256");
    manifest.layers.push_back(*std::move(layer));
  }
  if (const JsonValue* annotations = value.find("annotations");
      annotations != nullptr && annotations->is_object()) {
    for (const JsonMember& each : annotations->members()) {
      if (each.value.is_text()) manifest.annotations[each.name] = each.value.text();
    }
  }
  return manifest;
}

}  // namespace cubinet
