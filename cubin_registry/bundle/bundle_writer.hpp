// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bundle/frame_packer.hpp"

#include <cubinet/base/file_system.hpp>
#include <cubinet/cubin_registry/bundle.hpp>

#include <functional>
#include <string>
#include <vector>

namespace cubinet {

// How a profile that packs comes to its frames.
using PackImages = std::function<Result<PackedFrames>(std::vector<ImageToPack>, const WriteFrame&)>;

// Writes a bundle of these records atomically; `read` gives the images of a plain one, `pack` makes the
// frames of any other. Errors are those of create_bundle().
Result<void> write_bundle(const std::string& path, const CubinRecords& records, const BundleOptions& options,
                          const ReadImage& read, const PackImages& pack, const TuningTable& tuning,
                          FileSystem& files);

// "rms_norm(hidden_size=256) for sm_90a".
std::string describe_build(const CubinRecord& record);

}  // namespace cubinet
