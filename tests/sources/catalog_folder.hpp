// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/temp_dir.hpp"

#include <cubinet/base/sha256.hpp>
#include <cubinet/sources/source_manifest.hpp>

#include <map>
#include <string>
#include <vector>

namespace cubinet::test {

// A folder like an unpacked wheel of FlashInfer: one catalog with two kernels, a header that both
// include, a file of the host, and a licence in the wheel's dist-info. Members may be changed
// before write().
class CatalogFolder {
 public:
  CatalogFolder();

  std::string name = "doubles";
  std::string schema = "cake.library_export.v5";
  std::string flag = "-DFACTOR=2";
  std::string second_kernel = "doubles_two";
  // Texts by path. The manifest states the digests of these texts.
  std::map<std::string, std::string> files;
  // Replacements within the manifest's text, for members that no other member has.
  std::vector<std::pair<std::string, std::string>> replacements;

  std::string manifest() const;
  std::filesystem::path manifest_path() const {
    return folder_ / ("package/data/csrc/" + name + "_manifest.json");
  }
  std::filesystem::path data() const { return folder_ / "package/data"; }
  const std::filesystem::path& path() const { return folder_.path(); }
  // Writes all files, the manifest and the wheel's dist-info.
  void write() const;

 private:
  std::string module(const std::string& kernel, const std::string& source) const;
  std::string listed(const std::string& path, const std::string& kind) const;

  TempDir folder_;
};

// Returns a manifest of our own schema with one kernel "twice", whose text is in raw strings of
// "csrc/twice.h", and the content of its files.
SourceManifest own_catalog(std::map<std::string, Bytes>& contents);

}  // namespace cubinet::test
