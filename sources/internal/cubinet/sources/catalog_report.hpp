// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/sources/source_import.hpp>

#include <string>

namespace cubinet {

// Return what `cubinet import-sources` prints, as lines for people and as JSON: the catalogs with
// the number of their kernels for each target, and the manifests that were left out.
std::string to_text(const SourceImportReport& report);
std::string to_json(const SourceImportReport& report);

}  // namespace cubinet
