// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/json_value.hpp>
#include <cubinet/sources/source_manifest.hpp>

namespace cubinet {

inline constexpr std::string_view kCakeFamily = "cake.library_export.";

// Returns whether this is cake.library_export.v1 or v5, the schemas of FlashInfer's generated
// kernels.
bool is_cake_schema(std::string_view schema);

// Reads a manifest of such a schema. Members that do not concern the device code are not read.
// Returns unsupported if its sources are no CUDA, else invalid_argument for what is wrong.
Result<SourceManifest> cake_manifest(const JsonValue& document, const std::string& origin);

}  // namespace cubinet
