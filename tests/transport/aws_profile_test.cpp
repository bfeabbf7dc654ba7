// SPDX-License-Identifier: Apache-2.0
#include "support/ok.hpp"
#include "support/temp_dir.hpp"
#include "support/text.hpp"

#include <cubinet/transport/aws_profile.hpp>

#include <fstream>

using namespace cubinet;
using test::ok;

namespace {

struct AwsFolder {
  Result<AwsProfile> read(const std::string& profile, const std::string& credentials,
                          const std::string& config = {}) {
    std::ofstream(folder / "credentials") << credentials;
    std::ofstream(folder / "config") << config;
    return read_aws_profile(*posix_file_system(), {folder / "credentials", folder / "config", profile});
  }
  test::TempDir folder;
};

const char* const kTwo =
    "# mine\n[default]\naws_access_key_id = "
    "A\naws_secret_access_key=S=1\n\n[other]\r\naws_access_key_id=B\r\n"
    "aws_secret_access_key=T\r\naws_session_token=U\r\nregion=here\r\n";

}  // namespace

TEST_CASE("keys are those of the profile, with the region of the other file") {
  AwsFolder aws;
  const AwsProfile first =
      ok(aws.read("default", kTwo, "[default]\nregion = eu-west-1\ns3 =\n    signature = 4\n"));
  REQUIRE(first.credentials);
  CHECK(first.credentials->access_key == "A");
  CHECK(first.credentials->secret_key == "S=1");
  CHECK(first.credentials->session_token.empty());
  CHECK(first.region == "eu-west-1");
  const AwsProfile second =
      ok(aws.read("other", kTwo, "[profile other]\nregion=there\n[other]\nregion=nowhere\n"));
  REQUIRE(second.credentials);
  CHECK(second.credentials->session_token == "U");
  CHECK(second.region == "here");
  CHECK(ok(aws.read("third", "", "[profile third]\naws_access_key_id=C\naws_secret_access_key=V\n"))
            .credentials);
}

TEST_CASE("what is not there is no profile") {
  AwsFolder aws;
  CHECK_FALSE(ok(aws.read("absent", kTwo)).credentials);
  CHECK_FALSE(ok(aws.read("default", "[default]\naws_access_key_id=A\n")).credentials);
  const AwsProfile none =
      ok(read_aws_profile(*posix_file_system(), {aws.folder / "no", aws.folder / "none"}));
  CHECK_FALSE(none.credentials);
  CHECK(none.region.empty());
  ok(read_aws_profile(*posix_file_system(), {}));
}

TEST_CASE("keys from elsewhere are told, with what to do") {
  AwsFolder aws;
  const auto profile = aws.read("default", "", "[default]\nrole_arn=x\n");
  REQUIRE_FALSE(profile);
  CHECK(profile.error().code == ErrorCode::unsupported);
  CHECK(test::contains(profile.error().message, "role_arn"));
  CHECK_FALSE(profile.error().remedy.empty());
}

TEST_CASE("a line that is no setting is told by its number, and not quoted") {
  AwsFolder aws;
  const auto profile = aws.read("default", "[default]\nSECRET\n");
  REQUIRE_FALSE(profile);
  CHECK(profile.error().native == 2);
  CHECK_FALSE(test::contains(profile.error().to_line(), "SECRET"));
}
