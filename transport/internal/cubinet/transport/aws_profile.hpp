// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/file_system.hpp>
#include <cubinet/transport/aws_signer.hpp>

namespace cubinet {

// Where AWS's own tools keep who one is. Whoever reads the environment says what stands in it.
struct AwsProfileFiles {
  std::filesystem::path credentials;  // ~/.aws/credentials
  std::filesystem::path config;       // ~/.aws/config
  std::string profile = "default";
};

struct AwsProfile {
  std::optional<AwsCredentials> credentials;  // nullopt: neither file has any for it
  std::string region;                         // empty: none is named
};

// A file that is missing is an empty one. invalid_argument for lines that are neither section nor setting;
// unsupported for a profile whose keys come from elsewhere (a role, single sign-on, a program).
Result<AwsProfile> read_aws_profile(FileSystem& files, const AwsProfileFiles& where);

}  // namespace cubinet
