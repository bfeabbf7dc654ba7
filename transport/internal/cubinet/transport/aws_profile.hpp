// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/file_system.hpp>
#include <cubinet/transport/aws_signer.hpp>

namespace cubinet {

// The locations where AWS's tools store credentials. The code that reads the environment fills it
// in.
struct AwsProfileFiles {
  std::filesystem::path credentials;  // ~/.aws/credentials
  std::filesystem::path config;       // ~/.aws/config
  std::string profile = "default";
};

struct AwsProfile {
  // nullopt if neither file has credentials for the profile.
  std::optional<AwsCredentials> credentials;
  std::string region;  // empty: neither file names a region
};

// Reads a profile. A missing file counts as empty. Errors: invalid_argument for a line that is
// neither a section nor a setting; unsupported for a profile with credentials from another source
// (a role, single sign-on, a program).
Result<AwsProfile> read_aws_profile(FileSystem& files, const AwsProfileFiles& where);

}  // namespace cubinet
