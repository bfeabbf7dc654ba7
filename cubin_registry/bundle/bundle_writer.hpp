// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bundle/frame_packer.hpp"

#include <cubinet/base/file_system.hpp>
#include <cubinet/cubin_registry/bundle.hpp>

#include <functional>
#include <string>
#include <vector>

namespace cubinet {

// Packs the images of a compressing profile into frames.
using PackImages = std::function<Result<PackedFrames>(std::vector<ImageToPack>, const WriteFrame&)>;

// Writes a bundle of these records atomically. `read` returns the images of a plain bundle; `pack`
// makes the frames of any other. Returns the errors of create_bundle().
Result<void> write_bundle(const std::string& path, const CubinRecords& records, const BundleOptions& options,
                          const ReadImage& read, const PackImages& pack, const TuningTable& tuning,
                          FileSystem& files);

// Returns, for example, "rms_norm(hidden_size=256) for sm_90a".
std::string describe_build(const CubinRecord& record);

}  // namespace cubinet
