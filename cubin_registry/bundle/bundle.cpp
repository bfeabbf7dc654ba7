// SPDX-License-Identifier: Apache-2.0
#include "bundle/bundle_pack.hpp"
#include "bundle/bundle_verify.hpp"
#include "bundle/bundle_writer.hpp"
#include "bundle/entry_finder.hpp"
#include "store/record_row.hpp"

#include <cubinet/base/file_system.hpp>
#include <cubinet/base/fork_guard.hpp>
#include <cubinet/base/text.hpp>
#include <cubinet/cubin_registry/bundle.hpp>
#include <cubinet/cubin_registry/byte_source.hpp>
#include <cubinet/cubin_registry/record_lists.hpp>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <set>

namespace cubinet {
namespace {

bool is_damage(ErrorCode code) {
  return code == ErrorCode::corruption || code == ErrorCode::not_found;
}

class PackedBundle final : public Bundle {
 public:
  PackedBundle(std::shared_ptr<const BundlePack> pack, std::optional<TrustPolicy> policy,
               std::vector<Signer> signers, LogSink log)
      : pack_(std::move(pack)),
        policy_(std::move(policy)),
        signers_(std::move(signers)),
        log_(std::move(log)),
        description_{.kind = "bundle", .place = pack_->source().place(), .source = KernelSource::bundle} {}

  const StoreDescription& description() const override { return description_; }
  const BundleRoot& root() const override { return pack_->map().root; }
  ByteView root_bytes() const override { return pack_->root_bytes(); }
  const BundlePack& pack() const override { return *pack_; }
  const std::optional<TrustPolicy>& policy() const override { return policy_; }
  const std::vector<Signer>& signers() const override { return signers_; }

  Result<CubinRecords> find(const KernelId& kernel) override {
    CUBINET_TRY(check_process());
    CubinRecords found;
    EntryFinder finder(*pack_, BundleTable::records);
    CUBINET_TRY(collect(finder, kernel.hash(), found, log_skip_));
    std::erase_if(found, [&](const auto& record) { return !record->identity.is_of(kernel); });
    return found;
  }
  std::vector<Error> unreadable(const KernelId& kernel) override {
    std::vector<Error> errors;
    CubinRecords found;
    EntryFinder finder(*pack_, BundleTable::records);
    // find() returns the errors that are no damage.
    if (check_process())
      (void)collect(finder, kernel.hash(), found, [&](const Error& error) { errors.push_back(error); });
    return errors;
  }
  Result<CubinRecords> find_key(KernelKey key) override {
    CUBINET_TRY_ASSIGN(const CubinRecords found, led_to(BundleTable::keys, key.value));
    return with_key(found, key);
  }
  Result<CubinRecords> find_function(std::string_view name) override {
    CUBINET_TRY_ASSIGN(const CubinRecords found, led_to(BundleTable::names, hash_of_name(name)));
    return with_function(found, name);
  }
  Result<CubinRecords> list() override;
  Result<std::shared_ptr<const StoredRows>> rows() override;

  // A tuning table of a newer version must not make the kernels unusable.
  Result<TuningTable> tuning() override {
    auto table = checked_tuning();
    if (table || table.error().code != ErrorCode::unsupported) return table;
    log(log_, LogLevel::warning, "measurements skipped: " + table.error().to_line());
    return TuningTable();
  }
  Result<TuningTable> checked_tuning() override {
    CUBINET_TRY(check_process());
    auto table = pack_->read_tuning();
    if (!table) return pack_->at_place(std::move(table).error());
    return table;
  }
  Result<std::optional<Cubin>> load(std::shared_ptr<const CubinRecord> record) override {
    auto cubin = read(std::move(record));
    if (cubin) return *std::move(cubin);
    if (!is_damage(cubin.error().code)) return std::move(cubin).error();
    log_skipped(cubin.error());
    return std::optional<Cubin>();
  }
  Result<Cubin> read(std::shared_ptr<const CubinRecord> record) const override;
  Result<VerifyReport> verify() const override {
    CUBINET_TRY(check_process());
    return verify_bundle(*pack_);
  }

 private:
  Result<void> check_process() const {
    if (fork_guard_.in_original_process()) return {};
    return Error{ErrorCode::unavailable,
                 "an open bundle belongs to the process that this one was forked from",
                 "open it in the child"};
  }
  void log_skipped(const Error& error) const {
    log(log_, LogLevel::error, "bundle entry skipped: " + error.to_line());
  }
  using OnSkip = std::function<void(const Error&)>;
  // Appends the records of kernels with this hash. Reports and skips damaged ones.
  Result<void> collect(EntryFinder& finder, std::uint64_t kernel_hash, CubinRecords& found,
                       const OnSkip& skip) const;
  // Reports damage. Returns any other error.
  static Result<void> skip_damage(const Result<void>& read, const OnSkip& skip);
  // Returns the records that entries of this number lead to, in the order of list().
  Result<CubinRecords> led_to(BundleTable table, std::uint64_t number) const;
  // REQUIRES: the mutex.
  Result<void> read_all();
  // Returns where the record's image is stored; nullopt if it is not in this bundle.
  Result<std::optional<BundleImage>> image_place(const CubinRecord& record) const;

  const std::shared_ptr<const BundlePack> pack_;
  const std::optional<TrustPolicy> policy_;
  const std::vector<Signer> signers_;
  const LogSink log_;
  const OnSkip log_skip_ = [this](const Error& error) { log_skipped(error); };
  const StoreDescription description_;
  const ForkGuard fork_guard_;
  mutable std::mutex mutex_;  // guards the members below, which are read on first use
  bool all_read_ = false;
  CubinRecords all_;                 // in the order of the bundle
  std::vector<BundleImage> places_;  // locations of their images, ascending by digest
  // In the order of list(), because sorting takes as long as reading.
  std::optional<CubinRecords> listed_;
  std::shared_ptr<const StoredRows> rows_;
};

Result<void> PackedBundle::skip_damage(const Result<void>& read, const OnSkip& skip) {
  if (read || !is_damage(read.error().code)) return read;
  skip(read.error());
  return {};
}

Result<void> PackedBundle::collect(EntryFinder& finder, std::uint64_t kernel_hash, CubinRecords& found,
                                   const OnSkip& skip) const {
  const auto add = [&](ByteView bytes) -> Result<void> {
    auto entry = pack_->decode(bytes);
    if (entry) {
      found.push_back(std::move(entry->record));
    } else {
      skip(entry.error());
    }
    return {};
  };
  return skip_damage(finder.each(kernel_hash, add), skip);
}

Result<CubinRecords> PackedBundle::led_to(BundleTable table, std::uint64_t number) const {
  CUBINET_TRY(check_process());
  CubinRecords found;
  EntryFinder finder(*pack_, table);
  EntryFinder records(*pack_, BundleTable::records);
  const auto add = [&](ByteView pair) { return collect(records, kernel_hash_of(pair), found, log_skip_); };
  CUBINET_TRY(skip_damage(finder.each(number, add), log_skip_));
  sort_records(found);
  return found;
}

Result<void> PackedBundle::read_all() {
  if (all_read_) return {};
  std::vector<BundleEntry> entries;
  const Error other{ErrorCode::corruption, "it holds other records than its root says"};
  CUBINET_TRY(pack_->each_page_of_records([&](ByteView page) -> Result<void> {
    auto decoded = decode_entries(*pack_, page, entries);
    return decoded && entries.size() > root().records ? pack_->at_place(other) : decoded;
  }));
  if (entries.size() != root().records) return pack_->at_place(other);
  all_.reserve(entries.size());
  places_.reserve(entries.size());
  for (BundleEntry& entry : entries) {
    all_.push_back(std::move(entry.record));
    places_.push_back(entry.image);
  }
  std::stable_sort(places_.begin(), places_.end(),
                   [](const BundleImage& a, const BundleImage& b) { return a.digest < b.digest; });
  all_read_ = true;
  return {};
}

Result<CubinRecords> PackedBundle::list() {
  CUBINET_TRY(check_process());
  const std::lock_guard lock(mutex_);
  CUBINET_TRY(read_all());
  if (!listed_) {
    listed_ = all_;
    sort_records(*listed_);
  }
  return *listed_;
}

Result<std::shared_ptr<const StoredRows>> PackedBundle::rows() {
  CUBINET_TRY(check_process());
  const std::lock_guard lock(mutex_);
  CUBINET_TRY(read_all());
  if (rows_ == nullptr) {
    StoredRows rows;
    for (const auto& record : all_) {
      if (auto row = row_of(*record, description_.place)) rows.push_back({std::move(row), record});
    }
    rows_ = std::make_shared<const StoredRows>(std::move(rows));
  }
  return rows_;
}

// A kernel may have any number of builds. Looking up each separately would read the pages of all of
// them each time.
Result<std::optional<BundleImage>> PackedBundle::image_place(const CubinRecord& record) const {
  {
    const std::lock_guard lock(mutex_);
    if (all_read_) {
      const auto place = std::lower_bound(
          places_.begin(), places_.end(), record.digest,
          [](const BundleImage& image, const Sha256Digest& digest) { return image.digest < digest; });
      const bool found = place != places_.end() && place->digest == record.digest;
      return found ? std::optional(*place) : std::nullopt;
    }
  }
  return pack_->find_image(record);
}

Result<Cubin> PackedBundle::read(std::shared_ptr<const CubinRecord> record) const {
  CUBINET_TRY(check_process());
  CUBINET_TRY_ASSIGN(const auto image, image_place(*record));
  if (!image || image->size != record->size) {
    return Error{ErrorCode::invalid_argument,
                 describe_build(*record) + " is not in bundle '" + description_.place + "'"};
  }
  auto bytes = pack_->read_image(*image);
  if (!bytes) {
    Error error = std::move(bytes).error();
    if (error.code != ErrorCode::corruption) return error;
    error.message = "the image of " + describe_build(*record) + " is damaged: " + error.message;
    return pack_->at_place(std::move(error));
  }
  return Cubin{std::move(record), std::make_shared<const Bytes>(*std::move(bytes))};
}

// Returns whether a file was probably written as a bundle. One wrong letter of the magic is damage.
bool begins_like_a_bundle(std::string_view head) {
  std::size_t equal = 0;
  for (std::size_t i = 0; i < head.size(); ++i)
    equal += head[i] == kBundleMagic[i] ? 1U : 0U;
  return equal + 1 >= kBundleMagic.size();
}

// Returns an error if the root is not the expected one. Only its last bytes are compared: opening
// the bundle then requires that they are the digest of the others.
Result<void> check_expected_root(const BundleTrust& trust, const std::string& named, ByteView root) {
  if (!trust.root) return {};
  const auto stated = root.last(std::min(root.size(), trust.root->bytes.size()));
  if (std::equal(stated.begin(), stated.end(), trust.root->bytes.begin(), trust.root->bytes.end())) return {};
  return Error{ErrorCode::untrusted,
               named + " has a root with the digest " + to_hex(stated) + ", and " + trust.root->to_hex() +
                   " is expected",
               "use the bundle that was made for this library"};
}

// Returns an error if signed bytes are of another channel than the one that was asked for.
Result<void> check_stated_channel(const BundleTrust& trust, const std::string& named,
                                  const std::string& stated) {
  if (!trust.channel || trust.policy->threshold == 0 || stated == *trust.channel) return {};
  const std::string origin = trust.policy->origin.empty() ? "" : " (" + printable(trust.policy->origin) + ")";
  return Error{
      ErrorCode::untrusted,
      named + (stated.empty() ? " states no channel" : " is of the channel '" + printable(stated) + "'") +
          ", and '" + *trust.channel + "' was asked for under a policy that requires signatures" + origin,
      "ask its publisher for a bundle of '" + *trust.channel +
          "' (`BundleOptions::channel`), or name this one by its manifest, @sha256:DIGEST"};
}

}  // namespace

std::string_view to_string(BundleProfile profile) {
  switch (profile) {
    case BundleProfile::plain:
      return "plain";
    case BundleProfile::ship:
      return "ship";
    case BundleProfile::archive:
      return "archive";
  }
  return "plain";
}

Result<BundleProfile> parse_bundle_profile(std::string_view text) {
  for (const BundleProfile profile : {BundleProfile::plain, BundleProfile::ship, BundleProfile::archive}) {
    if (text == to_string(profile)) return profile;
  }
  return Error{ErrorCode::invalid_argument, "there is no profile '" + std::string(text) + "' of bundles",
               "plain, ship or archive"};
}

Result<std::shared_ptr<Bundle>> open_bundle(std::shared_ptr<const ByteSource> source, LogSink log,
                                            BundleTrust trust) {
  std::vector<Signer> signers;
  BundlePack::RootCheck check;
  const std::string named = "bundle '" + source->place() + "'";
  if (trust.policy || trust.root) {
    check = [&](ByteView root) -> Result<void> {
      CUBINET_TRY(check_expected_root(trust, named, root));
      if (!trust.policy) return {};
      CUBINET_TRY_ASSIGN(auto report, verify_signatures(*trust.policy, named, root, trust.signatures));
      signers = std::move(report.signers);
      for (const std::string& reason : report.refused)
        cubinet::log(log, LogLevel::info, named + ": " + reason);
      return {};
    };
  }
  CUBINET_TRY_ASSIGN(auto pack, BundlePack::open(std::move(source), check));
  if (trust.policy) {
    const BundleOptions& said = pack->map().root.options;
    CUBINET_TRY(check_stated_channel(trust, named, said.channel));
    const auto files = trust.files != nullptr ? trust.files : posix_file_system();
    const auto now =
        std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch());
    CUBINET_TRY(admit(*trust.policy, named, {said.channel, said.version, said.expires}, signers, *files,
                      trust.expiry, static_cast<std::uint64_t>(now.count()), log, trust.remembers));
  }
  return std::shared_ptr<Bundle>(std::make_shared<PackedBundle>(std::move(pack), std::move(trust.policy),
                                                                std::move(signers), std::move(log)));
}

Result<std::vector<BytePart>> frames_of(const Bundle& bundle, const CubinRecords& records) {
  const BundlePack& pack = bundle.pack();
  std::set<std::uint64_t> kernels;
  for (const auto& record : records)
    kernels.insert(record->identity.kernel_hash());
  std::map<Sha256Digest, BundleImage> images;
  EntryFinder finder(pack, BundleTable::records);
  for (const std::uint64_t kernel : kernels) {
    CUBINET_TRY(finder.each(kernel, [&](ByteView entry) -> Result<void> {
      CUBINET_TRY_ASSIGN(const BundleImage image, pack.place_in(entry));
      images.emplace(image.digest, image);
      return {};
    }));
  }
  std::vector<BytePart> parts;
  std::set<std::uint64_t> offsets;
  for (const auto& record : records) {
    const auto image = images.find(record->digest);
    if (image == images.end())
      return pack.at_place(
          Error{ErrorCode::corruption, "the image of " + describe_build(*record) + " is not in it"});
    const BytePart part = pack.part_of(image->second);
    if (offsets.insert(part.offset).second) parts.push_back(part);
  }
  return parts;
}

Result<std::shared_ptr<Bundle>> Bundle::open(const std::string& path, std::shared_ptr<FileSystem> files,
                                             LogSink log, std::optional<TrustPolicy> policy) {
  if (files == nullptr) files = posix_file_system();
  BundleTrust trust;
  trust.policy = std::move(policy);
  trust.signatures = signatures_beside(files, path);
  trust.files = files;
  auto opened = open_bundle(file_source(path, files), std::move(log), std::move(trust));
  if (opened || opened.error().code != ErrorCode::corruption) return opened;
  const auto head = files->read_range(path, 0, kBundleMagic.size());
  if (!head || begins_like_a_bundle(as_text(*head))) return opened;
  return Error{ErrorCode::invalid_argument, "'" + path + "' is not a bundle of cubinet", "name a bundle"};
}

}  // namespace cubinet
