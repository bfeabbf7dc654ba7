// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/file_system.hpp>
#include <cubinet/transport/http_message.hpp>

#include <chrono>

namespace cubinet {

// Where docker and its like keep who one is to a registry. Whoever reads the environment says what stands in
// it.
struct DockerConfiguration {
  std::filesystem::path file;  // ~/.docker/config.json
  std::vector<std::filesystem::path> helper_folders =
      {};                                            // where programs docker-credential-<name> lie: PATH
  std::vector<std::string> helper_environment = {};  // NAME=value
  std::chrono::milliseconds helper_limit{30'000};
};

struct RegistryCredentials {
  BasicCredentials basic = {};
  std::string identity_token = {};  // in the place of a password: to be exchanged for tokens
};

// Those for a registry, given as host[:port]. The helper program named for it is asked, or the one for all,
// and then the file. nullopt where nobody knows any; invalid_argument for a file that is not what docker
// writes; unavailable for a helper that is missing, fails, or takes longer than the limit.
Result<std::optional<RegistryCredentials>> find_docker_credentials(FileSystem& files,
                                                                   const DockerConfiguration& configuration,
                                                                   std::string_view authority);

}  // namespace cubinet
