// SPDX-License-Identifier: Apache-2.0
#include "bundle_arguments.hpp"

#include "arguments.hpp"

namespace cubinet::cli {

void add_bundle_options(CLI::App& verb, BundleOptions& options) {
  add_text(verb, "--channel", options.channel, "NAME",
           "What the bundle is a version of (default: its file's name, which is not written into it)");
  add_integer(verb, "--bundle-version", options.version, 0, INT64_MAX, "The newest of several bundles wins");
  add_integer(verb, "--created", options.created, 0, INT64_MAX,
              "When it was made, in seconds since 1970 (default: not said)");
  add_integer(verb, "--expires", options.expires, 0, INT64_MAX,
              "From when on it is out of date, in seconds since 1970 (default: never)");
  verb.add_option_function<std::string>(
          "--profile",
          [&options](const std::string& text) {
            const auto profile = parse_bundle_profile(text);
            if (!profile) throw CLI::ValidationError(profile.error().to_line());
            options.profile = *profile;
          },
          "plain: images as they are; ship: packed, each alone; archive: packed in groups, the smallest")
      ->type_name("PROFILE");
}

BundleOptions options_over(const CLI::App& verb, const BundleOptions& given, const BundleOptions& base) {
  BundleOptions options = given;
  if (verb.count("--channel") == 0) options.channel = base.channel;
  if (verb.count("--bundle-version") == 0) options.version = base.version;
  if (verb.count("--profile") == 0) options.profile = base.profile;
  return options;
}

}  // namespace cubinet::cli
