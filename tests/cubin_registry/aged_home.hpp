// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cubin_registry/home_fixture.hpp"
#include "local/use_log.hpp"

#include <chrono>

namespace cubinet::test {

// As if the build had been published so many days ago, where it is there.
inline void make_published(const std::filesystem::path& home, const Cubin& cubin, int days_ago) {
  const auto record = HomeLayout(home).record(entry_name(*cubin.record));
  const auto then = std::filesystem::file_time_type::clock::now() - std::chrono::hours(24 * days_ago);
  std::error_code gone;
  std::filesystem::last_write_time(record, then, gone);
}

// As if a process had noted then that the image was used.
inline void note_use(const std::filesystem::path& home, const Cubin& cubin, int days_ago) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto minute = std::chrono::duration_cast<std::chrono::minutes>(now).count() - 24 * 60 * days_ago;
  const UseMark mark{cubin.record->digest, 1, static_cast<std::uint32_t>(minute)};
  REQUIRE(posix_file_system()->append(home / "uses", encode_marks({&mark, 1})));
}

}  // namespace cubinet::test
