// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/file_system.hpp>
#include <cubinet/sources/source_manifest.hpp>

#include <filesystem>
#include <map>
#include <string>

namespace cubinet {

// The licences of the sources that a manifest describes.
struct FoundLicences {
  std::string library;                 // "flashinfer-python 0.7.2.post1"; empty: no wheel has it
  std::map<std::string, Bytes> texts;  // by path, relative to the folder
};

// Searches the folders from the manifest's up to `folder` for files whose names begin with LICENSE,
// LICENCE, COPYING or NOTICE. If a wheel's RECORD in one of them lists the manifest, the licences
// of the wheel's dist-info folder are added.
Result<FoundLicences> find_licences(FileSystem& files, const std::filesystem::path& manifest_file,
                                    const std::filesystem::path& folder);

}  // namespace cubinet
