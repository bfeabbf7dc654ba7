// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/embedded_file.hpp>

#include <span>

namespace cubinet {

std::span<const EmbeddedFile> embedded_report_assets();  // report.css and report.js

}  // namespace cubinet
