// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/cubin_registry/bundle.hpp>
#include <cubinet/session/bundle_options.hpp>

#include <CLI/App.hpp>

namespace cubinet::cli {

// --channel, --bundle-version, --created, --expires and --profile: what a bundle that is written
// says of itself, and how it is packed.
void add_bundle_options(CLI::App& verb, BundleOptions& options);

// What was not given of these is taken from `base`, but for the times, which are nobody else's.
BundleOptions options_over(const CLI::App& verb, const BundleOptions& given, const BundleOptions& base);

}  // namespace cubinet::cli
