// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cubin_registry/home_fixture.hpp"
#include "support/ok.hpp"

#include <cubinet/cubin_registry/bundle.hpp>
#include <cubinet/cubin_registry/byte_source.hpp>

#include <algorithm>
#include <mutex>
#include <utility>

namespace cubinet::test {

// Bytes in memory as a source, which remembers what was read of them.
class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(Bytes bytes) : bytes_(std::move(bytes)) {}

  Result<Bytes> read(std::uint64_t offset, std::uint64_t count) const override {
    const std::lock_guard lock(mutex_);
    reads_.emplace_back(offset, count);
    const std::size_t from = std::min<std::size_t>(offset, bytes_.size());
    const ByteView part = ByteView(bytes_).subspan(from, std::min<std::size_t>(count, bytes_.size() - from));
    return Bytes(part.begin(), part.end());
  }
  const std::string& place() const override { return place_; }

  std::vector<std::pair<std::uint64_t, std::uint64_t>> take_reads() {
    const std::lock_guard lock(mutex_);
    return std::exchange(reads_, {});
  }

 private:
  const Bytes bytes_;
  const std::string place_ = "memory.bundle";
  mutable std::mutex mutex_;
  mutable std::vector<std::pair<std::uint64_t, std::uint64_t>> reads_;
};

struct BundleFixture {
  TempDir folder;
  std::filesystem::path path = folder / "kernels.bundle";
  std::shared_ptr<FileSystem> files = posix_file_system();

  void create(std::vector<Cubin> cubins, BundleOptions options = {"test", 3}) {
    const auto created = create_bundle(path, std::move(cubins), options, files);
    REQUIRE_MESSAGE(created.has_value(), why_not(created));
  }
  std::shared_ptr<Bundle> open() {
    auto bundle = Bundle::open(path, files);
    REQUIRE_MESSAGE(bundle.has_value(), why_not(bundle));
    return *bundle;
  }
};

inline std::vector<Cubin> cubins_up_to(int count) {
  std::vector<Cubin> cubins;
  for (int i = 0; i < count; ++i)
    cubins.push_back(cubin_of(i));
  return cubins;
}

// Images that resemble each other, as kernels of one template do.
inline std::vector<Cubin> alike_cubins(int count, std::size_t bytes) {
  std::vector<Cubin> cubins;
  for (int i = 0; i < count; ++i) {
    FakeCubin description;
    description.code_bytes = 16;
    description.filler = static_cast<std::uint8_t>(i);
    Cubin cubin = make_cubin(spec_of(i), description);
    Bytes image = *cubin.image;
    std::uint32_t state = 1;
    for (std::size_t byte = 0; byte < bytes; ++byte) {
      state = state * 1664525U + 1013904223U + (byte % 512 == 0 ? static_cast<std::uint32_t>(i) : 0U);
      image.push_back(static_cast<std::byte>(state >> 24U & 0x3fU));
      if (byte % 512 == 511) state = static_cast<std::uint32_t>(byte);
    }
    auto record = std::make_shared<CubinRecord>(*cubin.record);
    record->digest = sha256(image);
    record->size = image.size();
    cubins.push_back({record, std::make_shared<const Bytes>(std::move(image))});
  }
  return cubins;
}

}  // namespace cubinet::test
