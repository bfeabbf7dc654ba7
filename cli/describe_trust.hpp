// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/cubin_registry/bundle.hpp>

#include <nlohmann/json.hpp>

#include <string>

namespace cubinet::cli {

// Under which policy a bundle was opened, and who has signed it: for people, and for programs.
std::string trust_text(const Bundle& bundle);
nlohmann::json describe_trust(const Bundle& bundle);

}  // namespace cubinet::cli
