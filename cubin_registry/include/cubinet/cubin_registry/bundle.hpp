// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/log.hpp>
#include <cubinet/base/result.hpp>
#include <cubinet/cubin_registry/store.hpp>
#include <cubinet/spec/cubin.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace cubinet {

class FileSystem;

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
// `files` nullptr: the operating system's.
Result<void> create_bundle(const std::string& path, std::vector<Cubin> cubins, const BundleOptions& options,
                           std::shared_ptr<FileSystem> files = nullptr);

// An open bundle. Immutable and thread-safe. Images are read by path when they are asked for: of a file that
// was replaced or changed since it was opened, each image fails its digest and is a corruption error, never
// wrong bytes. Open the new one.
class Bundle : public Store {
 public:
  // Reads and checks the manifest: corruption for damage anywhere in it, unsupported for a newer version.
  // `files` nullptr: the operating system's.
  static Result<std::shared_ptr<Bundle>> open(const std::string& path,
                                              std::shared_ptr<FileSystem> files = nullptr, LogSink log = {});

  virtual const BundleOptions& options() const = 0;
  virtual const CubinRecords& records() const = 0;
  // The same as load(), with the reason where there is no image: corruption that names the kernel.
  virtual Result<Cubin> read(std::shared_ptr<const CubinRecord> record) const = 0;
  // Reads and checks every image and the file's length.
  virtual Result<VerifyReport> verify() const = 0;
};

struct ImportReport {
  std::uint64_t imported = 0;
  std::uint64_t present = 0;          // were there already
  std::vector<StoreFinding> refused;  // damaged, false, or conflicting with what is there: left out
};
// What becomes of a build whose bytes are not those that lie under the same identity, kind and fingerprint.
// One of the two is not what it says.
enum class OnConflict { refuse, replace };
// Copies every entry into the store, its record marked with CubinOrigin::bundle and the bundle's version.
// Damaged ones, and those that conflict, are left out and reported; the good ones are in.
Result<ImportReport> import_bundle(const Bundle& bundle, WritableStore& store,
                                   OnConflict on_conflict = OnConflict::refuse);

}  // namespace cubinet
