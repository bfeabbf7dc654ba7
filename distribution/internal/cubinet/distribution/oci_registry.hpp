// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/distribution/content_server.hpp>
#include <cubinet/transport/docker_credentials.hpp>
#include <cubinet/transport/http_client.hpp>

namespace cubinet {

// Opens a repository of a registry of container images by the OCI distribution specification:
// blobs, manifests and, as channels, tags. Uses only features that stock registries have: no
// referrers, no upload in one POST.
std::shared_ptr<ContentServer> open_oci_registry(std::shared_ptr<HttpClient> client, Url registry,
                                                 std::string repository,
                                                 std::optional<RegistryCredentials> credentials);

}  // namespace cubinet
