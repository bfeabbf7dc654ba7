// SPDX-License-Identifier: Apache-2.0
#include "shared_images.hpp"

#include "support/fake_cubin.hpp"

#include <cubinet/base/sha256.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace cubinet {
namespace {

using namespace test;

// Counts the reads of one image.
struct Reader {
  explicit Reader(const std::string& word) : cubin(make_cubin(KernelSpec{"scale", {}}, {}, word)) {
    auto record = std::make_shared<CubinRecord>(*cubin.record);
    record->digest = sha256(as_bytes(word));
    cubin.record = std::move(record);
  }

  Cubin get(SharedImages& images) {
    const auto got = images.get(cubin.record, 0, [this]() -> Result<std::optional<Cubin>> {
      ++reads;
      return std::optional(Cubin{cubin.record, std::make_shared<const Bytes>(*cubin.image)});
    });
    return **got;
  }

  Cubin cubin;
  std::atomic<int> reads{0};
};

TEST_CASE("an image is read once for all devices and dropped when the last one has loaded it") {
  SharedImages images;
  Reader reader("a");
  for (int device = 0; device < 8; ++device) {
    CHECK(images.bytes() == (device == 0 ? 0 : reader.cubin.image->size()));
    images.note_loaded(reader.get(images), device, 8);
  }
  CHECK(reader.reads == 1);
  CHECK(images.bytes() == 0);
  images.note_loaded(reader.get(images), 0, 8);
  CHECK(reader.reads == 2);
}

TEST_CASE("the image of a machine with one device is not kept") {
  SharedImages images;
  Reader reader("a");
  images.note_loaded(reader.get(images), 0, 1);
  CHECK(images.bytes() == 0);
  images.note_loaded(reader.get(images), 0, 1);
  CHECK(reader.reads == 2);
}

TEST_CASE("threads that need an image at once share one read") {
  SharedImages images;
  Reader reader("a");
  std::vector<std::thread> threads;
  for (int device = 0; device < 8; ++device)
    threads.emplace_back([&, device] { images.note_loaded(reader.get(images), device, 8); });
  for (std::thread& thread : threads)
    thread.join();
  CHECK(reader.reads == 1);
  CHECK(images.bytes() == 0);
}

TEST_CASE("kept images stay within the limit and the least recently loaded go first") {
  Reader first("a");
  Reader second("b");
  Reader third("c");
  SharedImages images(2 * first.cubin.image->size());
  for (Reader* reader : {&first, &second})
    images.note_loaded(reader->get(images), 0, 8);
  images.note_loaded(first.get(images), 1, 8);
  images.note_loaded(third.get(images), 0, 8);
  CHECK(images.bytes() <= 2 * first.cubin.image->size());
  CHECK(first.get(images).record != nullptr);
  CHECK(first.reads == 1);
  CHECK(second.get(images).record != nullptr);
  CHECK(second.reads == 2);
  images.clear();
  CHECK(images.bytes() == 0);
  CHECK(third.get(images).record != nullptr);
  CHECK(third.reads == 2);
}

TEST_CASE("a read that fails, and a build that is gone, are not remembered") {
  SharedImages images;
  const Reader reader("a");
  const auto failed = images.get(reader.cubin.record, 0, []() -> Result<std::optional<Cubin>> {
    return Error{ErrorCode::corruption, "damaged"};
  });
  REQUIRE_FALSE(failed);
  CHECK(failed.error().code == ErrorCode::corruption);
  const auto gone = images.get(reader.cubin.record, 0,
                               []() -> Result<std::optional<Cubin>> { return std::optional<Cubin>(); });
  REQUIRE(gone);
  CHECK_FALSE(*gone);
}

}  // namespace
}  // namespace cubinet
