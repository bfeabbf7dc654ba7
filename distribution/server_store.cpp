// SPDX-License-Identifier: Apache-2.0
#include "channel_bundle.hpp"

#include <cubinet/base/fork_guard.hpp>
#include <cubinet/base/stopwatch.hpp>
#include <cubinet/cubin_registry/downloads.hpp>
#include <cubinet/distribution/kept_server.hpp>
#include <cubinet/distribution/server_store.hpp>
#include <cubinet/spec/image_check.hpp>

#include <algorithm>
#include <atomic>
#include <mutex>

namespace cubinet {
namespace {

class ServerStore final : public Store, public RowTable {
 public:
  explicit ServerStore(ServerStoreOptions options)
      : options_(std::move(options)),
        server_(std::make_shared<KeptServer>(options_.server,
                                             KeptServerOptions{.home = options_.home,
                                                               .local_only = is_local_only(options_),
                                                               .patience = options_.patience,
                                                               .rest = options_.rest,
                                                               .log = options_.log})),
        description_{.kind = "server",
                     .place = options_.reference.to_full_string(),
                     .source = KernelSource::server,
                     .remote = true} {}

  ~ServerStore() override {
    if (fork_guard_.in_original_process()) note_uses();
  }

  const StoreDescription& description() const override { return description_; }
  bool prefers(const CubinRecord& /*record*/) const override { return pinned_; }
  std::uint64_t fetched_bytes() const override { return server_->fetched_bytes(); }
  std::shared_ptr<Bundle> opened() {
    const std::lock_guard lock(mutex_);
    return bundle_;
  }

  Result<CubinRecords> find(const KernelId& kernel) override {
    ++asked_;
    auto found = ask([&](Bundle& bundle) { return bundle.find(kernel); });
    if (found && !found->empty()) ++found_;
    return found;
  }
  Result<CubinRecords> find_key(KernelKey key) override {
    return ask([&](Bundle& bundle) { return bundle.find_key(key); });
  }
  Result<CubinRecords> find_function(std::string_view name) override {
    return ask([&](Bundle& bundle) { return bundle.find_function(name); });
  }
  Result<CubinRecords> list() override {
    return ask([](Bundle& bundle) { return bundle.list(); });
  }
  Result<std::shared_ptr<const StoredRows>> rows() override {
    return ask([](Bundle& bundle) { return bundle.rows(); });
  }
  Result<TuningTable> tuning() override {
    return ask([](Bundle& bundle) { return bundle.tuning(); });
  }
  Result<TuningTable> checked_tuning() override {
    return ask([](Bundle& bundle) { return bundle.checked_tuning(); });
  }
  Result<std::optional<Cubin>> load(std::shared_ptr<const CubinRecord> record) override {
    auto loaded = ask([&](Bundle& bundle) { return fetch(bundle, std::move(record)); });
    if (loaded && *loaded) ++used_;
    return loaded;
  }

 private:
  template <class Question>
  auto ask(const Question& question) -> decltype(question(std::declval<Bundle&>())) {
    if (!fork_guard_.in_original_process())
      return Error{ErrorCode::unavailable,
                   "a server's store belongs to the process that this one was forked from",
                   "open it in the child"};
    std::optional<HttpClient::Session> session;
    if (options_.client != nullptr) session.emplace(*options_.client);
    CUBINET_TRY_ASSIGN(const auto bundle, this->bundle());
    return question(*bundle);
  }

  Result<std::shared_ptr<Bundle>> bundle();
  Result<std::optional<Cubin>> fetch(Bundle& bundle, std::shared_ptr<const CubinRecord> record);
  // Returns the build that the home has now.
  std::optional<Cubin> kept(const std::shared_ptr<const CubinRecord>& record);
  void keep(const Cubin& cubin);
  void note_uses();

  const ServerStoreOptions options_;
  const std::shared_ptr<KeptServer> server_;
  const StoreDescription description_;
  const ForkGuard fork_guard_;
  std::mutex mutex_;  // Guards the members below. Held while the bundle is opened.
  std::shared_ptr<Bundle> bundle_;
  std::atomic<bool> pinned_{false};  // the home has pinned the channel to bundle_
  std::optional<Error> refusal_;
  std::chrono::steady_clock::time_point opened_again_{};
  std::atomic<bool> told_{false};  // true if it was logged that fetched content is not stored
  std::atomic<std::uint64_t> asked_{0};
  std::atomic<std::uint64_t> found_{0};
  std::atomic<std::uint64_t> used_{0};
};

Result<std::shared_ptr<Bundle>> ServerStore::bundle() {
  const std::lock_guard lock(mutex_);
  if (bundle_ != nullptr) return bundle_;
  const auto now = std::chrono::steady_clock::now();
  if (refusal_ && now < opened_again_) return *refusal_;
  auto opened = open_channel_bundle(options_, server_);
  if (!opened) {
    refusal_ = opened.error();
    opened_again_ = std::chrono::steady_clock::now() + options_.rest;
    return opened.error();
  }
  refusal_.reset();
  bundle_ = opened->bundle;
  pinned_ = opened->manifest.pinned;
  return bundle_;
}

std::optional<Cubin> ServerStore::kept(const std::shared_ptr<const CubinRecord>& record) {
  const auto there = options_.home->find(record->identity.kernel());
  if (!there) return std::nullopt;
  const auto same = std::find_if(there->begin(), there->end(), [&](const auto& each) {
    return each->digest == record->digest && each->size == record->size;
  });
  if (same == there->end()) return std::nullopt;
  const auto loaded = options_.home->load(*same);
  if (!loaded || !*loaded) return std::nullopt;
  return Cubin{record, (*loaded)->image};
}

void ServerStore::keep(const Cubin& cubin) {
  if (!options_.home->description().writable) return;
  // A record that does not match its image would be found by other users of the home.
  auto published = check_image(*cubin.record, *cubin.image);
  if (published) published = options_.home->publish(cubin);
  if (!published)
    log(options_.log, told_.exchange(true) ? LogLevel::debug : LogLevel::warning,
        "what arrives is not kept: " + published.error().to_line());
}

Result<std::optional<Cubin>> ServerStore::fetch(Bundle& bundle, std::shared_ptr<const CubinRecord> record) {
  std::unique_ptr<BuildLock> lock;
  if (options_.home != nullptr) {
    if (auto cubin = kept(record)) return cubin;
    const Stopwatch waited;
    lock = server_->lock(record->digest);
    const double seconds = waited.seconds();
    if (auto cubin = kept(record)) return cubin;
    server_->waited_in_vain(seconds);
  }
  CUBINET_TRY_ASSIGN(auto cubin, bundle.load(std::move(record)));
  if (cubin && options_.home != nullptr) keep(*cubin);
  return cubin;
}

void ServerStore::note_uses() {
  if (options_.home == nullptr || !options_.home->description().writable) return;
  if (asked_ == 0 && used_ == 0 && server_->fetched_bytes() == 0) return;
  const auto noted = options_.home->downloads().change(description_.place, [&](KnownChannel& channel) {
    channel.uses.asked += asked_;
    channel.uses.found += found_;
    channel.uses.used += used_;
    channel.uses.bytes += server_->fetched_bytes();
  });
  if (!noted)
    log(options_.log, LogLevel::debug, "what a server was good for is not noted: " + noted.error().to_line());
}

}  // namespace

HttpSettings on_demand(HttpSettings settings) {
  settings.connect_limit = std::chrono::seconds(5);
  settings.least_speed = 16'384;
  settings.least_speed_time = std::chrono::seconds(5);
  settings.deadline = std::chrono::seconds(20);
  settings.attempts = 2;
  settings.longest_delay = std::chrono::seconds(1);
  return settings;
}

std::shared_ptr<Bundle> bundle_of(const std::shared_ptr<Store>& store) {
  const auto over_server = std::dynamic_pointer_cast<ServerStore>(store);
  return over_server != nullptr ? over_server->opened() : std::dynamic_pointer_cast<Bundle>(store);
}

Result<std::shared_ptr<Store>> open_server_store(ServerStoreOptions options) {
  if (options.reference.channel.empty() && !options.reference.digest)
    return Error{ErrorCode::invalid_argument,
                 "'" + options.reference.to_string() + "' says which server, and not which bundle",
                 "name a channel (#CHANNEL, oci with :CHANNEL) or a manifest (@sha256:DIGEST)"};
  return std::shared_ptr<Store>(std::make_shared<ServerStore>(std::move(options)));
}

}  // namespace cubinet
