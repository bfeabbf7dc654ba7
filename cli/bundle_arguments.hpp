// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/cubin_registry/bundle.hpp>
#include <cubinet/session/bundle_options.hpp>

#include <CLI/App.hpp>

namespace cubinet::cli {

// Adds --channel, --bundle-version, --created, --expires and --profile: the description of a new
// bundle and the way it is packed.
void add_bundle_options(CLI::App& verb, BundleOptions& options);

// Returns the given options, with options that are not on the line taken from `base`. The times are
// never taken from `base`.
BundleOptions options_over(const CLI::App& verb, const BundleOptions& given, const BundleOptions& base);

}  // namespace cubinet::cli
