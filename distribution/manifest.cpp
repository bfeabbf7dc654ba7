// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/json_object.hpp>
#include <cubinet/base/text.hpp>
#include <cubinet/distribution/manifest.hpp>

namespace cubinet {
namespace {

using nlohmann::json;

constexpr const char* kEmptyMediaType = "application/vnd.oci.empty.v1+json";
constexpr const char* kTitle = "org.opencontainers.image.title";
constexpr std::size_t kMaximumLayers = 1000;

json descriptor_json(std::string_view media_type, const BlobDescriptor& blob) {
  return {{"mediaType", media_type}, {"digest", "sha256:" + blob.digest.to_hex()}, {"size", blob.size}};
}

// nullopt where it is no descriptor. What an image manifest may say beside is left alone: others write it
// too.
std::optional<Manifest::Layer> read_layer(const json& value) {
  if (!value.is_object() || !value.contains("digest") || !value.contains("size") ||
      !value.contains("mediaType"))
    return std::nullopt;
  const json& digest = value["digest"];
  const json& size = value["size"];
  if (!digest.is_string() || !size.is_number_unsigned() || !value["mediaType"].is_string())
    return std::nullopt;
  const std::string text = digest.get<std::string>();
  if (!text.starts_with("sha256:")) return std::nullopt;
  const auto parsed = Sha256Digest::parse(std::string_view(text).substr(7));
  if (!parsed) return std::nullopt;
  Manifest::Layer layer{value["mediaType"].get<std::string>(), {*parsed, size.get<std::uint64_t>()}, {}};
  if (const auto annotations = value.find("annotations");
      annotations != value.end() && annotations->is_object()) {
    const auto title = annotations->find(kTitle);
    if (title != annotations->end() && title->is_string()) layer.title = title->get<std::string>();
  }
  return layer;
}

std::string text_or_empty(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace

ByteView empty_configuration() {
  return as_bytes("{}");
}

std::string to_json(const Manifest& manifest) {
  json layers = json::array();
  for (const Manifest::Layer& layer : manifest.layers) {
    json descriptor = descriptor_json(layer.media_type, layer.blob);
    if (!layer.title.empty()) descriptor["annotations"] = {{kTitle, layer.title}};
    layers.push_back(std::move(descriptor));
  }
  json value = {{"schemaVersion", 2},
                {"mediaType", kManifestMediaType},
                {"artifactType", manifest.artifact_type},
                {"config", descriptor_json(kEmptyMediaType, describe_blob(empty_configuration()))},
                {"layers", std::move(layers)}};
  if (!manifest.annotations.empty()) value["annotations"] = manifest.annotations;
  // Members come in the order of their names.
  return value.dump();
}

Result<Manifest> parse_manifest(std::string_view text, const std::string& where) {
  const auto refused = [&](const std::string& reason) {
    return Error{ErrorCode::corruption, where + " is no manifest of an image: " + reason};
  };
  if (text.size() > kMaximumManifest) return refused("it has more than 4 MiB");
  const auto parsed = parse_strict_json(text);
  if (!parsed) return refused(parsed.error().message);
  const json& value = *parsed;
  if (!value.is_object()) return refused("it is no object");
  const std::string media_type = text_or_empty(value, "mediaType");
  if (media_type != kManifestMediaType)
    return refused("its media type is '" + printable(media_type, kQuotedBytes) + "'");
  const auto layers = value.find("layers");
  if (layers == value.end() || !layers->is_array() || layers->size() > kMaximumLayers)
    return refused("it has no list of at most 1000 layers");
  Manifest manifest;
  manifest.artifact_type = text_or_empty(value, "artifactType");
  for (const json& each : *layers) {
    auto layer = read_layer(each);
    if (!layer) return refused("a layer has no type, size and SHA-256");
    manifest.layers.push_back(*std::move(layer));
  }
  if (const auto annotations = value.find("annotations");
      annotations != value.end() && annotations->is_object()) {
    for (const auto& [name, each] : annotations->items()) {
      if (each.is_string()) manifest.annotations[name] = each.get<std::string>();
    }
  }
  return manifest;
}

}  // namespace cubinet
