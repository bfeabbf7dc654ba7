// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/report/parts.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace cubinet {

// Returns the page with these sections. Several sections have a list of links before them. `now` is
// the time that the page states, in seconds since 1970.
std::string report_page(const std::vector<Section>& sections, std::int64_t now);

}  // namespace cubinet
