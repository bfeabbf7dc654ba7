// SPDX-License-Identifier: Apache-2.0
#include "credential_helper.hpp"

#include <cubinet/base/base64.hpp>
#include <cubinet/base/json_value.hpp>
#include <cubinet/base/text.hpp>
#include <cubinet/transport/docker_credentials.hpp>

#include <algorithm>
#include <unistd.h>

namespace cubinet {
namespace {

constexpr std::uint64_t kMaximumDockerFile = 1 << 20;

// Returns the host[:port] of a key: "https://host:port/v1/" becomes "host:port".
std::string_view authority_of_key(std::string_view key) {
  if (const std::size_t scheme = key.find("://"); scheme != std::string_view::npos)
    key.remove_prefix(scheme + 3);
  return key.substr(0, key.find('/'));
}

// Returns the name and value of the member of `object` for the registry.
std::pair<std::string, const JsonValue*> entry_of(const JsonValue* object, std::string_view authority) {
  if (object == nullptr || !object->is_object()) return {"", nullptr};
  for (const JsonMember& member : object->members()) {
    if (authority_of_key(member.name) == authority) return {member.name, &member.value};
  }
  return {"", nullptr};
}

Error helper_error(const std::string& helper, std::string_view reason) {
  return Error{ErrorCode::unavailable,
               "'docker-credential-" + printable(helper, kQuotedBytes) + "' " + std::string(reason),
               "install the helper that docker's configuration names, or log in without one"};
}

Result<std::optional<RegistryCredentials>> ask_helper(const DockerConfiguration& configuration,
                                                      const std::string& helper, std::string_view server) {
  const bool name = !helper.empty() && std::all_of(helper.begin(), helper.end(), [](char c) {
    return is_word_character(c) || c == '-' || c == '.';
  });
  if (!name) return helper_error(helper, "is no name of a program");
  for (const std::filesystem::path& folder : configuration.helper_folders) {
    const std::filesystem::path program = folder / ("docker-credential-" + helper);
    // An empty folder in PATH means the current folder, from which no program is run.
    if (!folder.is_absolute() || access(program.c_str(), X_OK) != 0) continue;
    CUBINET_TRY_ASSIGN(
        const HelperAnswer answer,
        run_credential_helper(program, configuration.helper_environment, server, configuration.helper_limit));
    if (answer.exit_status != 0) {
      if (answer.output.find("credentials not found") != std::string::npos)
        return std::optional<RegistryCredentials>();
      return helper_error(helper, "failed: " + printable(answer.output, kQuotedBytes));
    }
    const auto parsed = parse_json(answer.output);
    const std::string user = parsed ? parsed->text_of("Username") : "";
    const std::string secret = parsed ? parsed->text_of("Secret") : "";
    // The output is not quoted because it may contain the secret.
    if (secret.empty()) return helper_error(helper, "answers with no Secret");
    if (user == "<token>") return std::optional(RegistryCredentials{{}, secret});
    return std::optional(RegistryCredentials{{user, secret}, {}});
  }
  return helper_error(helper, "is in none of the folders of programs");
}

Result<std::optional<RegistryCredentials>> from_entry(const JsonValue& entry,
                                                      const std::filesystem::path& file) {
  RegistryCredentials credentials;
  credentials.identity_token = entry.text_of("identitytoken");
  credentials.basic = {entry.text_of("username"), entry.text_of("password")};
  if (const std::string packed = entry.text_of("auth"); !packed.empty()) {
    const auto bytes = from_base64(packed);
    const std::string plain(bytes ? as_text(*bytes) : "");
    const std::size_t colon = plain.find(':');
    if (colon == std::string::npos)
      return Error{ErrorCode::invalid_argument,
                   "'" + file.string() + "' has an \"auth\" that is no user and password", "log in again"};
    credentials.basic = {plain.substr(0, colon), plain.substr(colon + 1)};
  }
  if (credentials.identity_token.empty() && credentials.basic.user.empty())
    return std::optional<RegistryCredentials>();
  return std::optional(std::move(credentials));
}

}  // namespace

Result<std::optional<RegistryCredentials>> find_docker_credentials(FileSystem& files,
                                                                   const DockerConfiguration& configuration,
                                                                   std::string_view authority) {
  if (configuration.file.empty()) return std::optional<RegistryCredentials>();
  const auto content = files.read(configuration.file, kMaximumDockerFile);
  if (!content && content.error().code == ErrorCode::not_found) return std::optional<RegistryCredentials>();
  if (!content) return content.error();
  const auto parsed = parse_json(as_text(*content));
  if (!parsed)
    return Error{ErrorCode::invalid_argument,
                 "'" + configuration.file.string() + "' is no JSON of docker's",
                 "log in again",
                 {},
                 parsed.error().native};
  const auto [helper_key, helper] = entry_of(parsed->find("credHelpers"), authority);
  if (helper != nullptr && helper->is_text()) return ask_helper(configuration, helper->text(), helper_key);
  const auto [auth_key, entry] = entry_of(parsed->find("auths"), authority);
  if (const std::string store = parsed->text_of("credsStore"); !store.empty()) {
    CUBINET_TRY_ASSIGN(
        auto found, ask_helper(configuration, store, auth_key.empty() ? std::string(authority) : auth_key));
    if (found) return found;
  }
  if (entry == nullptr) return std::optional<RegistryCredentials>();
  return from_entry(*entry, configuration.file);
}

}  // namespace cubinet
