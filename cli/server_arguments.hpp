// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "context.hpp"

#include <cubinet/session/session_options.hpp>

#include <CLI/App.hpp>

namespace cubinet::cli {

// Adds --plain-http, --ca, --cert, --cert-key, --user, --password-file, --endpoint and --offline.
void add_server_options(CLI::App& verb, ServerArguments& options);
// Adds --password-file FILE of a secret key. A password is never an argument, because every user of
// the machine can read the command line.
void add_password_file(CLI::App& verb, std::string& file);
// Adds --bundle and the options for a bundle on a server.
void add_places(CLI::App& verb, Places& places);

// Adds --cache. For verbs that compile, the second function also adds the options for signing
// entries.
void add_cache(CLI::App& verb, Places& places);
void add_written_cache(CLI::App& verb, Places& places);

// Returns the access to servers that the line specifies, else the environment. Reads the password.
Result<ServerAccess> server_access(const Context& context, const ServerArguments& arguments);

}  // namespace cubinet::cli
