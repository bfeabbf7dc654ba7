// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/report/parts.hpp>
#include <cubinet/session/judged_build.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace cubinet {

// A stored build as a line of a report.
struct ListedKernel {
  JudgedBuild judged;
  std::optional<std::int64_t> last_used = {};  // in seconds since 1970; nullopt: never, or not known
  bool pinned = false;
};

struct KernelListOptions {
  bool shows_use = false;  // if true, the store notes uses
  std::int64_t now = 0;    // in seconds since 1970
};

// Returns a specification: its name, and its parameters and flags in small type.
Html spec_html(const KernelSpec& spec);
// Returns charts of the builds: by template and by target and, if uses are noted, by the time of
// the last use and by origin.
Html kernel_charts(const std::vector<ListedKernel>& kernels, const KernelListOptions& options);
// Returns the table of the builds with parameters, target, size, status, origin, key and digest.
Html kernel_table(const std::vector<ListedKernel>& kernels, const KernelListOptions& options);

}  // namespace cubinet
