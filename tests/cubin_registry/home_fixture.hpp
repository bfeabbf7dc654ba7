// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "local/file_store.hpp"
#include "support/fake_cubin.hpp"
#include "support/ok.hpp"
#include "support/temp_dir.hpp"

#include <cubinet/cubin_registry/home.hpp>

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace cubinet::test {

inline KernelSpec spec_of(int head_dim) {
  KernelSpec spec;
  spec.name = "attention_decode";
  return spec.set("dtype_q", "bf16").set("head_dim_qk", head_dim);
}

// Returns small cubins that differ in every byte of their code.
inline Cubin cubin_of(int number, std::string_view build = "build") {
  FakeCubin description;
  description.code_bytes = 16;
  description.filler = static_cast<std::uint8_t>(number);
  return make_cubin(spec_of(number), description, build);
}

// Returns one build under several records: the image of that number, as a bundle of this version
// ships it.
inline Cubin shipped(int image, std::uint64_t version) {
  const Cubin cubin = cubin_of(image);
  auto record = std::make_shared<CubinRecord>(*cubin_of(1).record);
  record->digest = cubin.record->digest;
  record->size = cubin.record->size;
  record->origin = CubinOrigin::bundle;
  record->version = version;
  return {std::move(record), cubin.image};
}

inline Bytes read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const ByteView view = as_bytes(text);
  return Bytes(view.begin(), view.end());
}

// The log lines of all threads.
struct LogLines {
  std::mutex mutex;
  std::vector<std::string> lines;

  LogSink sink() {
    return [this](const LogRecord& record) {
      const std::lock_guard lock(mutex);
      lines.push_back(std::string(to_string(record.level)) + ": " + std::string(record.message));
    };
  }
  std::size_t count(std::string_view text) {
    const std::lock_guard lock(mutex);
    std::size_t found = 0;
    for (const std::string& line : lines)
      found += line.find(text) != std::string::npos ? 1U : 0U;
    return found;
  }
};

// A home in its own folder.
struct HomeFixture {
  TempDir folder;
  LogLines log;
  std::filesystem::path home = folder / "home";

  HomeOptions options(HomeOptions::Access access = HomeOptions::Access::read_write) {
    HomeOptions options;
    options.path = home;
    options.log = log.sink();
    options.access = access;
    return options;
  }
  std::shared_ptr<Home> open(HomeOptions::Access access = HomeOptions::Access::read_write) {
    auto registry = Home::open(options(access));
    REQUIRE_MESSAGE(registry.has_value(), why_not(registry));
    return *std::move(registry);
  }
  // Leaves a build as a process does that dies, or publishes beside another, before it handles the
  // builds that its record replaces.
  void leave(const Cubin& cubin) {
    FileStore store(posix_file_system(), HomeLayout(home), log.sink());
    REQUIRE(store.write_image(cubin.record->digest, *cubin.image));
    REQUIRE(store.write_record(cubin.record));
  }
  std::filesystem::path image_of(const Cubin& cubin) const {
    return HomeLayout(home).cubin(cubin.record->digest);
  }
  // Returns the number of files in the quarantine.
  std::size_t set_aside() const {
    std::size_t files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(home / "quarantine"))
      files += entry.path().extension() == ".reason" ? 0U : 1U;
    return files;
  }
  std::filesystem::path only_file(const char* below) const {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(home / below)) {
      if (!entry.is_directory()) files.push_back(entry.path());
    }
    REQUIRE(files.size() == 1);
    return files.front();
  }
};

// Returns whether the cubin is found, loads and has the published bytes.
inline bool serves(Home& registry, const Cubin& cubin) {
  const auto found = registry.find(cubin.record->identity.kernel());
  REQUIRE_MESSAGE(found.has_value(), why_not(found));
  for (const auto& record : *found) {
    CHECK(record->identity == cubin.record->identity);
    if (record->fingerprint != cubin.record->fingerprint) continue;
    const auto loaded = registry.load(record);
    REQUIRE_MESSAGE(loaded.has_value(), why_not(loaded));
    if (!*loaded) continue;
    CHECK(sha256(*(*loaded)->image) == record->digest);
    return *(*loaded)->image == *cubin.image && *record == *cubin.record;
  }
  return false;
}

inline bool publishes(Home& registry, const Cubin& cubin) {
  const auto published = registry.publish(cubin);
  if (!published) MESSAGE(published.error().to_line());
  return published.has_value();
}

}  // namespace cubinet::test
