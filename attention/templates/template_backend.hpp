// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/backend.hpp>

#include <memory>
#include <string_view>

namespace cubinet {

// The template behind the backend, and the name of its rows' implementation.
inline constexpr std::string_view kDecodeTemplate = "attention_decode";

// Our own templates, compiled for the device when needed.
Result<std::shared_ptr<const AttentionBackend>> make_template_backend();

}  // namespace cubinet
