// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/file_system.hpp>
#include <cubinet/transport/http_message.hpp>

#include <chrono>

namespace cubinet {

// The locations where docker and compatible tools store registry credentials. The code that reads
// the environment fills it in.
struct DockerConfiguration {
  std::filesystem::path file;  // ~/.docker/config.json
  // The folders of PATH, which are searched for docker-credential-<name>.
  std::vector<std::filesystem::path> helper_folders = {};
  std::vector<std::string> helper_environment = {};  // NAME=value
  std::chrono::milliseconds helper_limit{30'000};
};

struct RegistryCredentials {
  BasicCredentials basic = {};
  std::string identity_token = {};  // replaces the password; it is exchanged for tokens
};

// Returns the credentials for a registry, given as host[:port]. Queries the helper program named
// for the registry, or the general helper, and then the file. Returns nullopt if none of them has
// credentials. Errors: invalid_argument for a file that docker does not write; unavailable for a
// helper that is missing, fails, or exceeds the time limit.
Result<std::optional<RegistryCredentials>> find_docker_credentials(FileSystem& files,
                                                                   const DockerConfiguration& configuration,
                                                                   std::string_view authority);

}  // namespace cubinet
