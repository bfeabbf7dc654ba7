// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/file_system.hpp>
#include <cubinet/base/log.hpp>
#include <cubinet/kernel_templates/kernel_template.hpp>
#include <cubinet/sources/source_manifest.hpp>

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace cubinet {

// The catalogs of sources that a home keeps, in its folder `sources` (docs/formats/sources.md).
// Files are stored by their SHA-256, and a catalog is one file that lists them, so it appears,
// changes and disappears by one rename.
class SourceCatalogs {
 public:
  // Changes wait so long for those of other processes.
  static constexpr std::chrono::milliseconds kPatience{30'000};

  explicit SourceCatalogs(const std::filesystem::path& home, std::shared_ptr<FileSystem> files = nullptr,
                          std::chrono::milliseconds patience = kPatience);

  // Returns the catalogs, ascending by name. A file that cannot be read, that others can have
  // written or that is damaged is logged and skipped. Returns no error if there is no folder.
  Result<std::vector<SourceManifest>> list(const LogSink& log = {}) const;

  // Writes the files, then the catalog. An earlier catalog of this name is replaced. REQUIRES:
  // `contents` has the bytes of every file that the manifest lists, by path. Returns
  // invalid_argument if another catalog has a kernel of the same name, and busy if other processes
  // change the catalogs for longer than `patience`.
  Result<void> save(const SourceManifest& manifest, const std::map<std::string, Bytes>& contents) const;

  // Removes a catalog and the files that no other one has. Returns not_found if there is none.
  Result<void> remove(const std::string& name) const;

  // Reads a file of a catalog and verifies it.
  Result<Bytes> read(const SourceFile& file) const;

 private:
  Result<void> sweep() const;

  std::shared_ptr<FileSystem> files_;
  std::filesystem::path folder_;
  std::chrono::milliseconds patience_;
};

// Returns the text of a kernel's source: the file, or its raw strings if the kernel says so.
// Returns invalid_argument if the file has no such strings.
Result<std::string> text_of_kernel(const SourceKernel& kernel, std::string_view file);

// Returns the kernels of a catalog as templates without parameters. A source is read and verified
// when its template is first resolved.
std::vector<std::shared_ptr<const KernelTemplate>> templates_of(const SourceManifest& manifest,
                                                                const SourceCatalogs& catalogs);

// Returns the licences of these kernels for people: each licence and notice with the kernels that
// it is for, then the first comment of each source.
Result<std::string> licences_of(const std::vector<SourceManifest>& manifests,
                                const std::vector<std::string>& kernels, const SourceCatalogs& catalogs);

}  // namespace cubinet
