// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/cubin_registry/downloads.hpp>
#include <cubinet/cubin_registry/home.hpp>
#include <cubinet/cubin_registry/imports.hpp>

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace cubinet {

// An imported folder and the number of its cubins that were used.
struct ImportUsage {
  ImportSummary import;
  std::uint64_t used = 0;
  std::int64_t last_used = 0;  // in seconds since 1970; meaningless if none was used
};

// The content of a home and its use, from one reading. A plain value.
struct HomeUsage {
  HomeStats stats = {};
  CubinRecords builds = {};      // those that were compiled here or came from bundles
  CubinRecords never_used = {};  // of `builds`
  std::vector<ImportUsage> imports = {};
  std::vector<KnownChannel> channels = {};
  bool noted = true;  // if false, this user cannot write the home, so its uses are not noted

  static Result<HomeUsage> of(Home& home);
};

// Returns {"asked", "found", "used", "never_used", "imports", "servers", "noted"}.
nlohmann::json describe(const HomeUsage& usage);
// Returns the same as lines for people, each of which begins with a newline. Names the first ten
// builds that were never used, or all of them. `now` is in seconds since 1970.
std::string to_text(const HomeUsage& usage, bool names_all, std::int64_t now);

}  // namespace cubinet
