// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/distribution/content_server.hpp>

#include <map>
#include <vector>

namespace cubinet {

// Of every image manifest.
inline constexpr std::string_view kManifestMediaType = "application/vnd.oci.image.manifest.v1+json";

// What lies on a server under one name: an OCI image manifest (image-spec 1.1) of these layers, with an
// artifactType and without a configuration, which is the blob "{}". Each layer has a title, by which other
// clients name its file.
struct Manifest {
  struct Layer {
    std::string media_type;
    BlobDescriptor blob;
    std::string title;  // a file name; may be empty
  };

  std::string artifact_type;
  std::vector<Layer> layers;
  std::map<std::string, std::string> annotations = {};
};

// The blob that a manifest names as its configuration: a registry wants it before the manifest.
ByteView empty_configuration();

// The same bytes for the same manifest.
std::string to_json(const Manifest& manifest);
// corruption for what is no image manifest, or names layers without digest, size or type. `where` names it in
// messages.
Result<Manifest> parse_manifest(std::string_view json, const std::string& where);

}  // namespace cubinet
