// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/distribution/content_server.hpp>

#include <map>
#include <vector>

namespace cubinet {

// The media type of every image manifest.
inline constexpr std::string_view kManifestMediaType = "application/vnd.oci.image.manifest.v1+json";

// An OCI image manifest (image-spec 1.1) of these layers. It has an artifactType, and the blob "{}"
// as its configuration. Each layer has a title, which other clients use as the name of its file.
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

// Returns the blob that a manifest names as its configuration. A registry requires it before the
// manifest.
ByteView empty_configuration();

// Returns the same bytes for equal manifests.
std::string to_json(const Manifest& manifest);
// Parses a manifest. `where` names it in messages. Returns an error (corruption) if it is not an
// image manifest, or a layer has no digest, size or type.
Result<Manifest> parse_manifest(std::string_view json, const std::string& where);

}  // namespace cubinet
