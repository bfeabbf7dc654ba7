// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet::test {

// Returns whether minisign is installed. Otherwise the test is skipped.
bool has_minisign();
// Runs the installed `minisign` as an independent check. `input` is its stdin. Returns true if it
// exits with 0.
bool minisign(const std::vector<std::string>& arguments, std::string_view input = {});

std::string text_of(const std::filesystem::path& file);
void put(const std::filesystem::path& file, std::string_view text);

}  // namespace cubinet::test
