// SPDX-License-Identifier: Apache-2.0
#include "policy_file.hpp"

#include <cubinet/base/absolute_path.hpp>
#include <cubinet/base/file_system.hpp>
#include <cubinet/base/text.hpp>
#include <cubinet/trust/server_place.hpp>
#include <cubinet/trust/trust_policy.hpp>

namespace cubinet {
namespace {

namespace fs = std::filesystem;

// Returns the policy file's bytes and sets its path. Returns nullopt if the home has none.
Result<std::optional<Bytes>> read_policy_file(FileSystem& files, const std::string& named, fs::path& path) {
  if (!named.empty()) {
    // A file that the user names may be a link, as a container's configuration is. Its target is
    // checked like the home's file.
    std::error_code failure;
    path = fs::canonical(named, failure);
    if (failure) {
      Error error = io_error("cannot open the policy '" + named + "'", failure.value());
      if (failure == std::errc::no_such_file_or_directory) error.code = ErrorCode::not_found;
      return error;
    }
  }
  auto file = files.read_own(path, kMaximumPolicyBytes);
  if (file) return std::optional<Bytes>(std::move(file->content));
  if (file.error().code == ErrorCode::not_found && named.empty()) return std::optional<Bytes>();
  Error error = std::move(file).error();
  if (error.code == ErrorCode::untrusted) {
    error.message = "the policy " + error.message;
    error.remedy = "a policy is a regular file of the user or of root that nobody else can write";
  }
  return error;
}

// Returns whether the path of a home leads through a file. Such a home has no policy, and nothing
// can be kept in it.
bool is_below_a_file(const std::string& home) {
  std::error_code failure;
  static_cast<void>(fs::canonical(home, failure));
  return failure == std::errc::not_a_directory;
}

// Returns an error for a home that others can write, because they could remove its policy. Guards a
// home that exists.
Result<void> check_home(FileSystem& files, const std::string& home) {
  std::error_code failure;
  const fs::path real = fs::canonical(home, failure);
  if (failure == std::errc::no_such_file_or_directory) return {};
  if (failure) return io_error("cannot open the home '" + home + "'", failure.value());
  CUBINET_TRY_ASSIGN(const auto status, files.status(real));
  const char* reason = status ? why_not_trusted(*status) : nullptr;
  if (reason == nullptr) {
    files.guard(home);
    return {};
  }
  return Error{ErrorCode::untrusted,
               "'" + home + "' " + reason + ", so that nothing tells whose policy counts",
               "chmod go-w it, or name another home or a policy file"};
}

// The names under which a policy may list a location.
struct PlaceNames {
  std::string named;  // a server in its canonical form, or an absolute path
  std::string real;   // the path with all links resolved; for a server the same
};

Result<PlaceNames> names_of_place(const std::string& place) {
  if (is_url(place)) {
    auto server = ServerPlace::parse(place);
    if (!server)
      return Error{ErrorCode::invalid_argument,
                   "'" + printable(place, kQuotedBytes) +
                       "' names no place that has a policy: " + server.error().message,
                   "name the server without channel and digest, a file or folder by its path"};
    return PlaceNames{server->to_string(), server->to_string()};
  }
  CUBINET_TRY_ASSIGN(const fs::path named, absolute_path(place));
  std::error_code failure;
  const fs::path real = fs::weakly_canonical(named, failure);
  if (failure) return io_error("cannot follow the links of '" + named.string() + "'", failure.value());
  return PlaceNames{named.string(), real.string()};
}

// Returns the policy for both names. A link must lead neither out of a store's rule nor into
// another one.
Result<std::optional<TrustPolicy>> policy_for(const PolicyFile& file, const PlaceNames& names) {
  const TrustPolicy* named = file.find(names.named);
  const TrustPolicy* real = file.find(names.real);
  if (named != nullptr && real != nullptr && named != real)
    return Error{ErrorCode::untrusted,
                 "'" + names.named + "' is judged by " + named->origin + ", and '" + names.real +
                     "', where its links lead, by " + real->origin,
                 "name it as its links lead, or give both places one policy"};
  if (named == nullptr) named = real;
  return named != nullptr ? std::optional<TrustPolicy>(*named) : file.fallback;
}

}  // namespace

Result<std::optional<TrustPolicy>> find_trust_policy(const std::string& place, const std::string& home,
                                                     const std::string& policy_file,
                                                     std::shared_ptr<FileSystem> files) {
  if (policy_file.empty() && home.empty()) return std::optional<TrustPolicy>();
  if (is_below_a_file(home)) return find_trust_policy(place, "", policy_file, std::move(files));
  if (files == nullptr) files = posix_file_system();
  if (!home.empty()) {
    CUBINET_TRY(check_home(*files, home));
  }
  fs::path path = fs::path(home) / "policy.json";
  CUBINET_TRY_ASSIGN(const auto text, read_policy_file(*files, policy_file, path));
  if (!text) return std::optional<TrustPolicy>();
  std::optional<KeySet> home_keys;
  if (!home.empty()) {
    CUBINET_TRY_ASSIGN(home_keys, read_key_set(*files, home));
  }
  const std::string seen = home.empty() ? "" : versions_seen_path(home).string();
  CUBINET_TRY_ASSIGN(const PolicyFile file, parse_policy(as_text(*text), path.string(), home_keys, seen));
  if (place == kBuiltinPlace) {
    const TrustPolicy* named = file.find(place);
    return named != nullptr ? std::optional<TrustPolicy>(*named) : std::nullopt;
  }
  CUBINET_TRY_ASSIGN(const PlaceNames names, names_of_place(place));
  return policy_for(file, names);
}

}  // namespace cubinet
