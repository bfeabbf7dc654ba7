// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/embedded_file.hpp>

#include <span>

namespace cubinet {

std::span<const EmbeddedFile> embedded_template_files();  // templates and bases, by file name
std::span<const EmbeddedFile> embedded_header_files();    // headers, by the name that #include gives

}  // namespace cubinet
