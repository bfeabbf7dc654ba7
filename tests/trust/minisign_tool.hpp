// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet::test {

// False, and the test is skipped, where it is not installed.
bool has_minisign();
// Runs the installed `minisign`, which is the second opinion; `input` is its stdin. True when it ends with 0.
bool minisign(const std::vector<std::string>& arguments, std::string_view input = {});

std::string text_of(const std::filesystem::path& file);
void put(const std::filesystem::path& file, std::string_view text);

}  // namespace cubinet::test
