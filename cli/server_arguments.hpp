// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "context.hpp"

#include <cubinet/session/session_options.hpp>

#include <CLI/App.hpp>

namespace cubinet::cli {

// --plain-http, --ca, --cert, --cert-key, --user, --password-file, --endpoint and --offline.
void add_server_options(CLI::App& verb, ServerArguments& options);
// --bundle, and how it is asked for where that is a server.
void add_places(CLI::App& verb, Places& places);

// --cache; with how its entries are signed, of verbs that compile.
void add_cache(CLI::App& verb, Places& places);
void add_written_cache(CLI::App& verb, Places& places);

// Returns how servers are contacted: what the line says, else what the environment says. Reads the
// password.
Result<ServerAccess> server_access(const Context& context, const ServerArguments& arguments);

}  // namespace cubinet::cli
