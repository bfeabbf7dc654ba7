// SPDX-License-Identifier: Apache-2.0
#include "device_fixture.hpp"

#include <cubinet/loader/stream.hpp>

#include <atomic>
#include <thread>
#include <vector>

namespace cubinet {
namespace {

using namespace test;

constexpr int kDevices = 8;

// A read-only store that counts the images that are read.
class CountingStore final : public Store {
 public:
  explicit CountingStore(std::shared_ptr<Store> store) : store_(std::move(store)) {
    description_ = store_->description();
    description_.writable = false;
  }
  const StoreDescription& description() const override { return description_; }
  Result<CubinRecords> find(const KernelId& kernel) override { return store_->find(kernel); }
  Result<CubinRecords> find_key(KernelKey key) override { return store_->find_key(key); }
  Result<CubinRecords> find_function(std::string_view symbol) override {
    return store_->find_function(symbol);
  }
  Result<CubinRecords> list() override { return store_->list(); }
  Result<std::optional<Cubin>> load(std::shared_ptr<const CubinRecord> record) override {
    ++reads;
    return store_->load(std::move(record));
  }

  std::atomic<int> reads{0};

 private:
  std::shared_ptr<Store> store_;
  StoreDescription description_;
};

struct Machine {
  TempDir folder;
  Stub stub;
  std::shared_ptr<CountingStore> store;
  std::shared_ptr<Runtime> runtime;

  Machine() {
    if (stub.set_devices == nullptr) return;
    stub.set_devices(kDevices, 9, 0);
    REQUIRE(make_runtime(device_options(folder / "h"))->function(scale_spec(), 0));
    store = std::make_shared<CountingStore>(open_home(folder / "h"));
    RuntimeOptions options = device_options(folder / "h");
    options.stores = {store};
    options.compile = CompilePolicy::never;
    runtime = make_runtime(options);
  }
};

TEST_CASE("an image is read and checked once for eight devices, one after the other") {
  const Machine machine;
  if (machine.stub.missing()) return;
  for (int device = 0; device < kDevices; ++device) {
    const auto function = machine.runtime->function(scale_spec(), device);
    REQUIRE_MESSAGE(function, (function ? "" : function.error().to_line()));
    CHECK(function->device().ordinal() == device);
  }
  CHECK(machine.store->reads == 1);
  CHECK(machine.runtime->memory()->modules == kDevices);
}

TEST_CASE("an image is read and checked once for eight devices that load it at the same time") {
  const Machine machine;
  if (machine.stub.missing()) return;
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int device = 0; device < kDevices; ++device) {
    threads.emplace_back([&, device] {
      const auto function = machine.runtime->function(scale_spec(), device);
      if (!function || function->device().ordinal() != device) ++wrong;
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  CHECK(wrong == 0);
  CHECK(machine.store->reads == 1);
}

TEST_CASE("a trim and a freeze drop the images that are kept for other devices") {
  const Machine machine;
  if (machine.stub.missing()) return;
  Runtime& runtime = *machine.runtime;
  REQUIRE(runtime.function(scale_spec(), 0));
  REQUIRE(runtime.trim(0));
  REQUIRE(runtime.function(scale_spec(), 1));
  CHECK(machine.store->reads == 2);
  REQUIRE(runtime.freeze());
  REQUIRE(runtime.thaw());
  REQUIRE(runtime.function(scale_spec(), 2));
  CHECK(machine.store->reads == 3);
}

TEST_CASE("a Function is launched neither in the context nor on a stream of another device") {
  const Machine machine;
  if (machine.stub.missing()) return;
  Runtime& runtime = *machine.runtime;
  const auto function = runtime.function(scale_spec(), 0);
  REQUIRE(function);
  const auto other = *runtime.device(1);
  const auto stream = Stream::create(other);
  REQUIRE(stream);
  const LaunchConfig on_other{.stream = stream->handle()};
  {
    const auto current = other->make_current();
    REQUIRE(current);
    for (const LaunchConfig& config : {LaunchConfig{}, on_other}) {
      const auto launched = function->launch(config, ScaleParameters{});
      REQUIRE_FALSE(launched);
      CHECK(launched.error().code == ErrorCode::driver);
      CHECK(launched.error().message.find("device 0") != std::string::npos);
      CHECK(launched.error().remedy.find("make the device's primary context current") != std::string::npos);
    }
  }
  const auto current = function->device().make_current();
  REQUIRE(current);
  CHECK(function->launch(on_other, ScaleParameters{}).error().code == ErrorCode::driver);
  CHECK(function->launch({}, ScaleParameters{}));
}

}  // namespace
}  // namespace cubinet
