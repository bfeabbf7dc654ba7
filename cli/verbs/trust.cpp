// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"
#include "server_arguments.hpp"
#include "verbs.hpp"

#include <cubinet/base/text.hpp>
#include <cubinet/session/password.hpp>
#include <cubinet/trust/key_set.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cubinet::cli {
namespace {

struct KeygenOptions {
  std::string secret;
  std::string password_file;
};

struct UpdateOptions {
  std::string file;
  bool first = false;
};

Result<ExitStatus> keygen(const Context& context, const KeygenOptions& options) {
  FileSystem& files = *context.files();
  CUBINET_TRY_ASSIGN(const auto secret,
                     check_output_file(files, options.secret, context.protected_files({})));
  CUBINET_TRY_ASSIGN(const auto open,
                     check_output_file(files, options.secret + ".pub", context.protected_files({})));
  CUBINET_TRY_ASSIGN(const auto in_the_way, files.status(open));
  if (in_the_way) {
    return Error{ErrorCode::io, "'" + open.string() + "' is there already",
                 "name another file: no key is overwritten"};
  }
  CUBINET_TRY_ASSIGN(const auto password, read_password(files, options.password_file));
  CUBINET_TRY_ASSIGN(const SecretKey key, SecretKey::generate());
  CUBINET_TRY_ASSIGN(const SecretBytes text, key.to_file(password ? &*password : nullptr));
  CUBINET_TRY(write_secret_file(secret, text));
  CUBINET_TRY(write_file_atomically(files, open, as_bytes(key.public_key().to_file())));
  context.console().text(fmt::format("secret key {}: {}, {}\npublic key {}: {}", key.public_key().id(),
                                     printable(secret.string()), password ? "encrypted" : "not encrypted",
                                     key.public_key().to_string(), printable(open.string())));
  context.console().document({{"id", key.public_key().id()},
                              {"public_key", key.public_key().to_string()},
                              {"public_key_file", open.string()},
                              {"secret_key_file", secret.string()},
                              {"encrypted", password.has_value()}});
  return ExitStatus::done;
}

Result<ExitStatus> update(const Context& context, const UpdateOptions& options) {
  CUBINET_TRY_ASSIGN(const Bytes text, context.files()->read(options.file, kMaximumKeySetBytes));
  CUBINET_TRY_ASSIGN(const auto home, context.open_registry(HomeOptions::Access::read_write));
  const std::string& place = home->description().place;
  CUBINET_TRY_ASSIGN(const KeySet set, update_key_set(*context.files(), place, "'" + options.file + "'", text,
                                                      signatures_beside(context.files(), options.file),
                                                      options.first ? KeySetTurn::first : KeySetTurn::next));
  nlohmann::json keys = nlohmann::json::array();
  for (const PublicKey& key : set.keys)
    keys.push_back(key.to_string());
  context.console().text(fmt::format("key set {} of {}: {} of {} have to sign", set.version, printable(place),
                                     set.threshold, plural(set.keys.size(), "key")));
  context.console().document(
      {{"home", place}, {"version", set.version}, {"threshold", set.threshold}, {"keys", std::move(keys)}});
  return ExitStatus::done;
}

}  // namespace

void add_trust(CLI::App& root, Action& chosen) {
  CLI::App* trust = root.add_subcommand("trust", "Make keys, and say which ones count");
  trust->require_subcommand(0, 1);

  CLI::App* keygen_verb = trust->add_subcommand("keygen", "Make a key to sign with, in minisign's format");
  auto keygen_options = std::make_shared<KeygenOptions>();
  keygen_verb
      ->add_option("FILE", keygen_options->secret, "The secret key to write; FILE.pub is the public one")
      ->required()
      ->type_name("");
  add_password_file(*keygen_verb, keygen_options->password_file);
  keygen_verb->footer(
      R"(Nobody but its owner may read the secret key; without a password it is all that it takes to sign.

Examples:
  cubinet trust keygen release.key
  cubinet trust keygen release.key --password-file -)");
  choose<KeygenOptions>(*keygen_verb, chosen, keygen_options, keygen);

  CLI::App* update_verb =
      trust->add_subcommand("update", "Take the next key set into the home; FILE.<key id>.minisig sign it");
  auto update_options = std::make_shared<UpdateOptions>();
  update_verb->add_option("FILE", update_options->file, "The key set")->required()->type_name("");
  update_verb->add_flag("--first", update_options->first,
                        "The home has none, and you know that this is the right one");
  update_verb->footer(R"(Each set is signed by the threshold of the one before it, and by its own.

Examples:
  cubinet trust update keys-1.json --first
  cubinet trust update keys-2.json)");
  choose<UpdateOptions>(*update_verb, chosen, update_options, update);

  trust->footer(R"(Examples:
  cubinet trust keygen release.key
  cubinet trust update keys-2.json)");
}

}  // namespace cubinet::cli
