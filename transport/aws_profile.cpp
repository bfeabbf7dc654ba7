// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/text.hpp>
#include <cubinet/transport/aws_profile.hpp>

#include <algorithm>
#include <map>

namespace cubinet {
namespace {

constexpr std::uint64_t kMaximumProfileFile = 1 << 20;

using Settings = std::map<std::string, std::string, std::less<>>;

std::string_view stripped(std::string_view text) {
  constexpr std::string_view blank = " \t\r";
  const std::size_t first = text.find_first_not_of(blank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blank) - first + 1);
}

// Returns the settings of the section `wanted`. A later setting replaces an earlier one of the same
// name.
Result<Settings> read_section(FileSystem& files, const std::filesystem::path& path, std::string_view wanted) {
  Settings settings;
  if (path.empty()) return settings;
  const auto content = files.read(path, kMaximumProfileFile);
  if (!content && content.error().code == ErrorCode::not_found) return settings;
  if (!content) return content.error();
  std::string_view rest = as_text(*content);
  bool inside = false;
  for (int number = 1; !rest.empty(); ++number) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view raw = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const std::string_view line = stripped(raw);
    // An indented line belongs to the setting above it ("s3 ="). No such setting is used here.
    if (line.empty() || line.front() == '#' || line.front() == ';' || raw.front() == ' ' ||
        raw.front() == '\t')
      continue;
    if (line.front() == '[') {
      inside = line.back() == ']' && stripped(line.substr(1, line.size() - 2)) == wanted;
      continue;
    }
    const std::size_t equals = line.find('=');
    // The line is not quoted because it may be a key.
    if (equals == std::string_view::npos)
      return Error{
          ErrorCode::invalid_argument,
          "'" + path.string() + "' has neither a section nor a setting in line " + std::to_string(number),
          {},
          {},
          number};
    if (inside) settings[std::string(stripped(line.substr(0, equals)))] = stripped(line.substr(equals + 1));
  }
  return settings;
}

}  // namespace

Result<AwsProfile> read_aws_profile(FileSystem& files, const AwsProfileFiles& where) {
  CUBINET_TRY_ASSIGN(Settings settings, read_section(files, where.credentials, where.profile));
  const std::string section = where.profile == "default" ? where.profile : "profile " + where.profile;
  CUBINET_TRY_ASSIGN(Settings config, read_section(files, where.config, section));
  settings.merge(config);
  AwsProfile profile;
  profile.region = settings["region"];
  const std::string& access_key = settings["aws_access_key_id"];
  const std::string& secret_key = settings["aws_secret_access_key"];
  if (!access_key.empty() && !secret_key.empty()) {
    profile.credentials = AwsCredentials{access_key, secret_key, settings["aws_session_token"]};
    return profile;
  }
  for (const char* elsewhere :
       {"role_arn", "sso_session", "sso_start_url", "credential_process", "web_identity_token_file"}) {
    if (settings.count(elsewhere) == 0) continue;
    return Error{
        ErrorCode::unsupported,
        "the profile '" + printable(where.profile, kQuotedBytes) + "' has its keys from elsewhere (" +
            elsewhere + ")",
        "let AWS's tool say them (aws configure export-credentials) and give them in the environment"};
  }
  return profile;
}

}  // namespace cubinet
