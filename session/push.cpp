// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/file_system.hpp>
#include <cubinet/distribution/bundle_transfer.hpp>
#include <cubinet/session/json.hpp>
#include <cubinet/session/push.hpp>
#include <cubinet/session/servers.hpp>
#include <cubinet/trust/signature.hpp>

namespace cubinet {
namespace {

// Reads FILE.<key id>.minisig of every key.
Result<std::vector<BundleSignature>> read_signatures(FileSystem& files, const std::filesystem::path& bundle) {
  const std::filesystem::path folder = bundle.has_parent_path() ? bundle.parent_path() : ".";
  const std::string before = bundle.filename().string() + ".";
  constexpr std::string_view after = ".minisig";
  std::vector<BundleSignature> signatures;
  CUBINET_TRY_ASSIGN(const Listing listing, files.list(folder));
  for (const std::string& name : listing.names) {
    if (!name.starts_with(before) || !name.ends_with(after) ||
        name.size() != before.size() + 16 + after.size())
      continue;
    CUBINET_TRY_ASSIGN(Bytes content, files.read(folder / name, kMaximumSignatureBytes));
    signatures.push_back({name.substr(before.size(), 16), std::move(content)});
  }
  return signatures;
}

}  // namespace

Result<PushResult> push(const SessionOptions& session, const PushOptions& options) {
  CUBINET_TRY_ASSIGN(const ServerReference reference, ServerReference::parse(options.reference));
  if (reference.digest)
    return Error{ErrorCode::invalid_argument,
                 "'" + options.reference + "' names a manifest, which the upload determines",
                 "name a channel, or only the server"};
  const std::shared_ptr<FileSystem> files = posix_file_system();
  CUBINET_TRY_ASSIGN(const auto bundle, Bundle::open(options.bundle, files));
  CUBINET_TRY_ASSIGN(const VerifyReport report, bundle->verify());
  if (!report.findings.empty()) {
    return Error{ErrorCode::corruption,
                 "'" + options.bundle + "' is damaged and not pushed: " + report.findings.front().reason,
                 "create the bundle or fetch it again"};
  }
  BundleUpload upload{options.bundle, bundle->root_bytes().size()};
  CUBINET_TRY_ASSIGN(upload.signatures, read_signatures(*files, options.bundle));
  const BundleOptions& stated = bundle->root().options;
  if (stated.version != 0)
    upload.annotations["org.opencontainers.image.version"] = std::to_string(stated.version);
  PushResult result;
  result.channel = reference.channel;
  if (result.channel.empty() && check_channel(stated.channel)) result.channel = stated.channel;
  CUBINET_TRY_ASSIGN(const auto servers, open_servers(session.access, {reference}));
  CUBINET_TRY_ASSIGN(const Sha256Digest manifest,
                     push_bundle(*servers.server, files, upload, result.channel));
  result.manifest = manifest.to_hex();
  result.reference = reference.to_string() + "@sha256:" + result.manifest;
  result.signatures = upload.signatures.size();
  return result;
}

std::string to_json(const PushResult& result) {
  return json_text({{"reference", result.reference},
                    {"manifest", result.manifest},
                    {"channel", result.channel},
                    {"signatures", result.signatures}});
}

}  // namespace cubinet
