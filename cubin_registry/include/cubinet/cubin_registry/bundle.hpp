// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/file_system.hpp>
#include <cubinet/base/result.hpp>
#include <cubinet/cubin_registry/registry.hpp>
#include <cubinet/spec/cubin.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cubinet {

// A bundle: one file that holds a manifest and the cubins it names, made to travel. docs/formats/bundle.md
// has the grammar and its version history. The manifest is small, checksummed and read at once; images are
// read and verified one by one.
inline constexpr std::uint16_t kBundleVersion = 1;

struct BundleOptions {
  std::string name;           // for people, without control characters; part of the manifest
  std::uint64_t version = 0;  // the newest of several bundles wins
};

// Writes a bundle atomically. Equal images are stored once; the order of `cubins` does not change the bytes.
// invalid_argument when two of them have one identity and fingerprint but different bytes, for a name that
// holds control characters, and for what is above the limits of docs/formats/bundle.md.
Result<void> create_bundle(FileSystem& files, const std::filesystem::path& path, std::vector<Cubin> cubins,
                           const BundleOptions& options);

// An open bundle. Immutable and thread-safe. Images are read by path when they are asked for: of a file that
// was replaced or changed since it was opened, each image fails its digest and is a corruption error, never
// wrong bytes. Open the new one.
class Bundle {
 public:
  // Reads and checks the manifest: corruption for damage anywhere in it, unsupported for a newer version.
  static Result<std::shared_ptr<const Bundle>> open(std::shared_ptr<FileSystem> files,
                                                    const std::filesystem::path& path);
  virtual ~Bundle() = default;

  virtual const std::filesystem::path& path() const = 0;
  virtual const BundleOptions& options() const = 0;
  virtual const std::vector<std::shared_ptr<const CubinRecord>>& records() const = 0;
  virtual std::vector<std::shared_ptr<const CubinRecord>> find(const KernelIdentity& identity) const = 0;
  // The verified image; corruption, naming the kernel, when the bytes are not what the manifest says.
  virtual Result<Cubin> load(std::shared_ptr<const CubinRecord> record) const = 0;
  // Reads and checks every image and the file's length.
  virtual Result<VerifyReport> verify() const = 0;
};

struct ImportReport {
  std::uint64_t imported = 0;
  std::uint64_t present = 0;             // were there already
  std::vector<RegistryFinding> refused;  // damaged or false: left out
};
// Copies every entry into the registry, its record marked with CubinOrigin::bundle and the bundle's version.
// Damaged ones are left out and reported; the good ones are in.
Result<ImportReport> import_bundle(const Bundle& bundle, Registry& registry);

}  // namespace cubinet
