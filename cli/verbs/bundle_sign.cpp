// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"
#include "server_arguments.hpp"
#include "verbs.hpp"

#include <cubinet/base/text.hpp>
#include <cubinet/session/password.hpp>
#include <cubinet/trust/signature.hpp>
#include <cubinet/trust/verification.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chrono>

namespace cubinet::cli {
namespace {

struct BundleSignOptions {
  std::string bundle;
  std::string key;
  std::string password_file;
  std::string comment;
};

// Returns the default trusted comment of minisign.
std::string default_comment(const std::filesystem::path& bundle) {
  const auto now =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch());
  return fmt::format("timestamp:{}\tfile:{}\thashed", now.count(), printable(bundle.filename().string()));
}

Result<ExitStatus> sign_bundle(const Context& context, const BundleSignOptions& options) {
  // The bundle is opened without a policy, because its maker signs it before anybody can trust it.
  CUBINET_TRY_ASSIGN(const auto bundle,
                     Bundle::open(options.bundle, context.files(), context.console().log_sink()));
  const auto beside = [&](const std::string& id) { return signature_path(options.bundle, id).string(); };
  CUBINET_TRY_ASSIGN(const SecretKey key,
                     read_secret_key(*context.files(), options.key, options.password_file));
  const std::string& id = key.public_key().id();
  CUBINET_TRY_ASSIGN(const auto output,
                     check_output_file(*context.files(), beside(id),
                                       context.protected_files({options.bundle, options.key})));
  CUBINET_TRY_ASSIGN(const VerifyReport report, bundle->verify());
  if (!report.findings.empty()) {
    return context.fail(Error{ErrorCode::corruption,
                              fmt::format("'{}' is damaged and not signed: {}", printable(options.bundle),
                                          printable(report.findings.front().reason)),
                              "`cubinet bundle verify` lists all damage"},
                        ExitStatus::negative);
  }
  const std::string comment = options.comment.empty() ? default_comment(options.bundle) : options.comment;
  CUBINET_TRY_ASSIGN(const MinisignSignature signature, sign(key, bundle->root_bytes(), comment));
  CUBINET_TRY(write_file_atomically(*context.files(), output, as_bytes(signature.to_file())));
  context.console().text(fmt::format("{}: the first {} bytes of {}, by key {}", printable(output.string()),
                                     bundle->root_bytes().size(), printable(options.bundle), id));
  context.console().document({{"bundle", bundle->description().place},
                              {"signature", output.string()},
                              {"id", id},
                              {"public_key", key.public_key().to_string()},
                              {"comment", comment},
                              {"signed_bytes", bundle->root_bytes().size()}});
  return ExitStatus::done;
}

}  // namespace

void add_bundle_sign(CLI::App& bundle, Action& chosen) {
  CLI::App* verb = bundle.add_subcommand(
      "sign", "Sign a sound bundle; the signature is written to BUNDLE.<key id>.minisig");
  auto options = std::make_shared<BundleSignOptions>();
  verb->add_option("BUNDLE", options->bundle, "The bundle")->required()->type_name("");
  add_text(*verb, "--key", options->key, "FILE", "The secret key, minisign's or of `cubinet trust keygen`")
      ->required();
  add_password_file(*verb, options->password_file);
  add_text(*verb, "--comment", options->comment, "TEXT",
           "What is signed with it, for people (default: time and file)");
  verb->footer(
      R"(What is signed is the bundle's root, the bytes that it begins with. Without cubinet, where the root has 4096 bytes:

  head -c 4096 kernels.bundle > root
  minisign -V -P RWQ... -m root -x kernels.bundle.<key id>.minisig

Example:
  cubinet bundle sign kernels.bundle --key release.key)");
  choose<BundleSignOptions>(*verb, chosen, options, sign_bundle);
}

}  // namespace cubinet::cli
