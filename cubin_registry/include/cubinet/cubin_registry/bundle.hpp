// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/log.hpp>
#include <cubinet/base/result.hpp>
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

// How a bundle's images are stored. Stored in roots: DO NOT RENUMBER.
enum class BundleProfile : std::uint8_t {
  plain = 0,   // as they are
  ship = 1,    // packed by zstd, each alone: an eighth of the size, and one is fetched without the others
  archive = 2  // packed by zstd in groups that are alike: a tenth, and one costs its group
};
std::string_view to_string(BundleProfile profile);  // "plain", "ship", "archive"
Result<BundleProfile> parse_bundle_profile(std::string_view text);

struct BundleOptions {
  std::string channel;        // the name of what it is a version of, without control characters
  std::uint64_t version = 0;  // the newest of several bundles wins
  // Seconds since 1970, as its maker says; 0: not said. Nothing here asks the clock for them.
  std::uint64_t created = 0;
  std::uint64_t expires = 0;
  BundleProfile profile = BundleProfile::plain;
};

// What a bundle says of itself: that which a signature covers.
struct BundleRoot {
  BundleOptions options;
  std::vector<std::string> targets;    // "sm_90a", "compute_90", ascending
  std::vector<std::string> toolchain;  // the compilers that its records name, and zstd where it packed
  std::uint64_t records = 0;
  std::uint64_t images = 0;
  std::uint64_t image_bytes = 0;  // of these, unpacked
  std::uint64_t file_bytes = 0;
};

// Writes a bundle atomically. Equal images are stored once; the order of `cubins` does not change the bytes.
// invalid_argument when two of them have one identity, kind and fingerprint but different contents, for a
// channel that holds control characters, and for what is above the limits of docs/formats/bundle.md.
// `files` nullptr: the operating system's. `tuning` travels with them.
Result<void> create_bundle(const std::string& path, std::vector<Cubin> cubins, const BundleOptions& options,
                           std::shared_ptr<FileSystem> files = nullptr, const TuningTable& tuning = {});
// The same of what a store holds, whose images are read one after the other. corruption when one is gone or
// damaged.
Result<void> create_bundle(const std::string& path, Store& store, CubinRecords records,
                           const BundleOptions& options, std::shared_ptr<FileSystem> files = nullptr,
                           const TuningTable& tuning = {});

// An open bundle. Thread-safe. Opening it reads its root; each look-up reads and checks the page that it
// needs, and each image is read and checked when it is asked for: of a file that was replaced or changed
// since it was opened, pages and images fail their digests and are passed over or corruption errors, never
// wrong bytes. Open the new one.
class Bundle : public Store {
 public:
  // corruption for damage anywhere in the root, unsupported for a newer version.
  // With a policy (find_trust_policy) as many of its keys as it wants have to have signed the root, beside
  // the file, which is found out before anything in it is looked at; its version is remembered. Else
  // untrusted. Expiry is told to the log. `files` nullptr: the operating system's.
  static Result<std::shared_ptr<Bundle>> open(const std::string& path,
                                              std::shared_ptr<FileSystem> files = nullptr, LogSink log = {},
                                              std::optional<TrustPolicy> policy = std::nullopt);

  virtual const BundleRoot& root() const = 0;
  // What a signature covers: the bytes that the bundle begins with.
  virtual ByteView root_bytes() const = 0;
  // What it was opened under, and which of the trusted keys have signed it.
  virtual const std::optional<TrustPolicy>& policy() const = 0;
  virtual const std::vector<Signer>& signers() const = 0;
  // The same as load(), with the reason where there is no image: corruption that names the kernel.
  virtual Result<Cubin> read(std::shared_ptr<const CubinRecord> record) const = 0;
  // Reads and checks every byte.
  virtual Result<VerifyReport> verify() const = 0;

  // For this module.
  virtual const BundlePack& pack() const = 0;
};

// Open bundles, and of each the records that are wanted.
using BundleParts = std::vector<std::pair<std::shared_ptr<Bundle>, CubinRecords>>;
// Writes a bundle of kernels of others, atomically: all of several, or a part of one. Frames of which every
// image is wanted are copied as they are where the profile is theirs and the dictionary that of the first;
// other images are read, checked and packed anew; measurements are merged. invalid_argument as of
// create_bundle(), corruption for what is damaged.
Result<void> combine_bundles(const std::string& path, const BundleParts& parts, const BundleOptions& options,
                             std::shared_ptr<FileSystem> files = nullptr);

struct ImportReport {
  std::uint64_t imported = 0;
  std::uint64_t present = 0;          // were there already
  std::vector<StoreFinding> refused;  // damaged, false, or conflicting with what is there: left out
  std::uint64_t measurements = 0;     // that the bundle has, whatever part of it is imported
  // A build of a newer bundle that the store had already. Requests still use it.
  struct Outranked {
    std::shared_ptr<const CubinRecord> imported;
    std::shared_ptr<const CubinRecord> in_use;
  };
  std::vector<Outranked> outranked = {};
};
// What becomes of a build whose bytes are not those that lie under the same identity, kind and fingerprint.
// One of the two is not what it says.
enum class OnConflict { refuse, replace };
// Copies every entry into the store, its record marked with CubinOrigin::bundle and the bundle's version.
// Damaged ones, and those that conflict, are left out and reported; the good ones are in. Its measurements
// are merged with the store's. Corruption, and nothing is imported, where the bundle's parts contradict each
// other or bytes of it are not used: what verify() finds but for the images.
Result<ImportReport> import_bundle(Bundle& bundle, WritableStore& store,
                                   OnConflict on_conflict = OnConflict::refuse);
// The same of some of its entries. What else the bundle holds is not looked at.
Result<ImportReport> import_records(Bundle& bundle, const CubinRecords& records, WritableStore& store,
                                    OnConflict on_conflict = OnConflict::refuse);

}  // namespace cubinet
