// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/log.hpp>
#include <cubinet/base/result.hpp>
#include <cubinet/cubin_registry/row_table.hpp>
#include <cubinet/cubin_registry/store.hpp>
#include <cubinet/spec/cubin.hpp>
#include <cubinet/trust/trust_policy.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cubinet {

class BundlePack;
class FileSystem;

// The storage of a bundle's images. Stored in roots: DO NOT RENUMBER.
enum class BundleProfile : std::uint8_t {
  plain = 0,  // uncompressed
  // Compressed by zstd separately: an eighth of the size, and an image is fetched alone.
  ship = 1,
  // Compressed by zstd in groups of similar images: a tenth of the size, and an image is fetched
  // with its group.
  archive = 2
};
std::string_view to_string(BundleProfile profile);  // "plain", "ship", "archive"
Result<BundleProfile> parse_bundle_profile(std::string_view text);

struct BundleOptions {
  // The name of the series of versions that it belongs to. No control characters.
  std::string channel;
  // Among bundles' builds of a kernel for one target, the highest version is used.
  std::uint64_t version = 0;
  // Seconds since 1970, chosen by the maker. 0: not stated. The library does not read the clock for
  // them.
  std::uint64_t created = 0;
  std::uint64_t expires = 0;
  BundleProfile profile = BundleProfile::plain;
};

// The facts that a bundle states about itself. Signatures cover them.
struct BundleRoot {
  BundleOptions options;
  std::vector<std::string> targets;  // "sm_90a", "compute_90", ascending
  // The compilers that its records name, and zstd if it compressed the images.
  std::vector<std::string> toolchain;
  std::uint64_t records = 0;
  std::uint64_t images = 0;
  std::uint64_t image_bytes = 0;  // uncompressed size of the images
  std::uint64_t file_bytes = 0;
};

// Writes a bundle atomically, with the measurements in `tuning`. Equal images are stored once. The
// order of `cubins` does not change the bytes. `files` nullptr: the operating system's. Returns an
// error (invalid_argument) if two cubins have the same identity, kind and fingerprint but different
// contents, if the channel contains control characters, or if a limit of docs/formats/bundle.md is
// exceeded.
Result<void> create_bundle(const std::string& path, std::vector<Cubin> cubins, const BundleOptions& options,
                           std::shared_ptr<FileSystem> files = nullptr, const TuningTable& tuning = {});
// Does the same for a store's records. Reads their images one after the other. Returns an error
// (corruption) if one is missing or damaged.
Result<void> create_bundle(const std::string& path, Store& store, CubinRecords records,
                           const BundleOptions& options, std::shared_ptr<FileSystem> files = nullptr,
                           const TuningTable& tuning = {});

// An open bundle. Thread-safe. Opening reads its root. Each lookup reads and verifies the pages
// that it needs, and each image is read and verified on request. If the file is replaced or changed
// while it is open, pages and images fail their digests: they are skipped or are corruption errors,
// never wrong bytes. Open the new file.
class Bundle : public Store, public RowTable {
 public:
  // Opens a bundle. Returns corruption for damage anywhere in the root, unsupported for a newer
  // version. With a policy (find_trust_policy), requires the policy's threshold of valid
  // signatures, stored beside the file, and returns untrusted otherwise. Signatures are verified
  // before the root is parsed, and the bundle's version is remembered. Expiry is logged. `files`
  // nullptr: the operating system's.
  static Result<std::shared_ptr<Bundle>> open(const std::string& path,
                                              std::shared_ptr<FileSystem> files = nullptr, LogSink log = {},
                                              std::optional<TrustPolicy> policy = std::nullopt);

  virtual const BundleRoot& root() const = 0;
  // Returns the root, the beginning of the bundle, which is all that a signature covers directly.
  virtual ByteView root_bytes() const = 0;
  // Return the policy that it was opened with, and the trusted keys that have signed it.
  virtual const std::optional<TrustPolicy>& policy() const = 0;
  virtual const std::vector<Signer>& signers() const = 0;
  // Does the same as load(), but returns an error (corruption) that names the kernel if there is no
  // image.
  virtual Result<Cubin> read(std::shared_ptr<const CubinRecord> record) const = 0;
  // Reads and verifies every byte.
  virtual Result<VerifyReport> verify() const = 0;

  // For use inside this module.
  virtual const BundlePack& pack() const = 0;
};

// Open bundles with the selected records of each.
using BundleParts = std::vector<std::pair<std::shared_ptr<Bundle>, CubinRecords>>;
// Writes a bundle of other bundles' kernels atomically: all of several, or a part of one. Frames
// whose images are all selected are copied if they have the same profile and the dictionary of the
// first bundle. Other images are read, verified and compressed again. Measurements are merged.
// Returns invalid_argument like create_bundle(), corruption for damaged bundles.
Result<void> combine_bundles(const std::string& path, const BundleParts& parts, const BundleOptions& options,
                             std::shared_ptr<FileSystem> files = nullptr);

struct ImportReport {
  std::uint64_t imported = 0;
  std::uint64_t present = 0;  // builds that existed already
  // Damaged or false builds, or conflicts with existing ones. They are left out.
  std::vector<StoreFinding> refused;
  // Measurements in the bundle, independent of the imported part.
  std::uint64_t measurements = 0;
  // An imported build, and a build of a newer bundle that the store had already and that requests
  // continue to use.
  struct Outranked {
    std::shared_ptr<const CubinRecord> imported;
    std::shared_ptr<const CubinRecord> in_use;
  };
  std::vector<Outranked> outranked = {};
};
// The handling of a build whose bytes differ from an existing one of the same identity, kind and
// fingerprint. One of the two is false.
enum class OnConflict { refuse, replace };
// Copies every entry into the store, its record marked with CubinOrigin::bundle and the bundle's
// version. Damaged and conflicting entries are left out and reported; the others are imported. The
// measurements are merged with the store's. Imports nothing and returns corruption if the bundle's
// parts contradict each other or bytes of it are unused: everything that verify() finds except
// damaged images.
Result<ImportReport> import_bundle(Bundle& bundle, WritableStore& store,
                                   OnConflict on_conflict = OnConflict::refuse);
// Imports the given entries in the same way. Does not check the rest of the bundle.
Result<ImportReport> import_records(Bundle& bundle, const CubinRecords& records, WritableStore& store,
                                    OnConflict on_conflict = OnConflict::refuse);

}  // namespace cubinet
