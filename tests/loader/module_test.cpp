// SPDX-License-Identifier: Apache-2.0
#include "loader/driver_under_test.hpp"
#include "support/text.hpp"

#include <cubinet/loader/module.hpp>
#include <cubinet/spec/cache_entry.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <elf.h>

using namespace cubinet;
using cubinet::test::contains;
using cubinet::test::DriverUnderTest;
using cubinet::test::with_image;
using cubinet::test::with_record;

namespace {

// Returns the error of a load that must fail before the driver receives the bytes.
Error refused(const DriverUnderTest& test, const Cubin& cubin) {
  const unsigned calls = test.stub == nullptr ? 0 : test.stub->calls("cuLibraryLoadData");
  const auto module = Module::load(test.device, cubin);
  REQUIRE(!module);
  if (test.stub != nullptr) CHECK(test.stub->calls("cuLibraryLoadData") == calls);
  CHECK(contains(module.error().message, test.device->properties().name));
  return module.error();
}

Bytes changed(const Cubin& cubin, std::size_t offset, std::uint8_t value) {
  Bytes image = *cubin.image;
  REQUIRE(offset < image.size());
  image[offset] = static_cast<std::byte>(value);
  return image;
}

}  // namespace

TEST_CASE("A module loads and gives its entry points by name") {
  const DriverUnderTest test;
  if (!test.ready) return;
  const auto module = test.load(test.cubin());
  CHECK(&module->device() == test.device.get());
  CHECK(module->record().entry_points.size() == 6);
  for (const EntryPoint& entry : module->record().entry_points) {
    const auto function = module->function(entry.name);
    REQUIRE(function);
    CHECK(*function);
    CHECK(function->entry_point().name == entry.name);
    CHECK(&function->record() == &module->record());
    CHECK(&function->device() == test.device.get());
    CHECK(function->handle() != nullptr);
  }
  const auto first = module->function();
  REQUIRE(first);
  CHECK(first->entry_point().name == "vector_add");
}

TEST_CASE("An unknown entry point is not found and the error lists what there is") {
  const DriverUnderTest test;
  if (!test.ready) return;
  const auto function = test.load(test.cubin())->function("vector_sub");
  REQUIRE(!function);
  CHECK(function.error().code == ErrorCode::not_found);
  CHECK(contains(function.error().message, "vector_sub"));
  CHECK(contains(function.error().remedy, "vector_add, scale, shared_sum"));
}

TEST_CASE("A module needs a device, a record with entry points and an image") {
  const DriverUnderTest test;
  if (!test.ready) return;
  const Cubin cubin = test.cubin();
  CHECK(Module::load(nullptr, cubin).error().code == ErrorCode::invalid_argument);
  CHECK(Module::load(test.device, {nullptr, cubin.image}).error().code == ErrorCode::invalid_argument);
  CHECK(Module::load(test.device, {cubin.record, nullptr}).error().code == ErrorCode::invalid_argument);
  const Cubin without = with_record(cubin, [](CubinRecord& record) { record.entry_points.clear(); });
  CHECK(Module::load(test.device, without).error().code == ErrorCode::invalid_argument);
}

TEST_CASE("An image of another size than its record says is corrupt") {
  const DriverUnderTest test;
  if (!test.ready) return;
  const Cubin longer = with_record(test.cubin(), [](CubinRecord& record) { ++record.size; });
  const Error error = refused(test, longer);
  CHECK(error.code == ErrorCode::corruption);
  CHECK(contains(error.message, std::to_string(longer.record->size)));
}

TEST_CASE("An entry of another compiler is not loaded, though it holds machine code") {
  const DriverUnderTest test;
  if (!test.ready) return;
  const std::vector<CacheFile> files = {{"kernel.cubin", *test.cubin().image}};
  const Cubin entry = with_record(with_image(test.cubin(), encode_cache_entry(files)),
                                  [](CubinRecord& record) { record.kind = ImageKind::cache_entry; });
  const Error error = refused(test, entry);
  CHECK(error.code == ErrorCode::unsupported);
  CHECK(contains(error.remedy, "materialize"));
}

TEST_CASE("Bytes that are no cubin never reach the driver") {
  const DriverUnderTest test;
  if (!test.ready) return;
  const Cubin cubin = test.cubin();
  CHECK(refused(test, with_image(cubin, {})).code == ErrorCode::corruption);
  CHECK(refused(test, with_image(cubin, Bytes(4096, std::byte{0}))).code == ErrorCode::corruption);
  const std::string_view text = ".version 9.0 .target sm_90";
  CHECK(refused(test, with_image(cubin, Bytes(as_bytes(text).begin(), as_bytes(text).end()))).code ==
        ErrorCode::corruption);
  CHECK(refused(test, with_image(cubin, changed(cubin, 0, 0x7e))).code == ErrorCode::corruption);
  CHECK(refused(test, with_image(cubin, changed(cubin, EI_CLASS, ELFCLASS32))).code == ErrorCode::corruption);
  CHECK(refused(test, with_image(cubin, changed(cubin, offsetof(Elf64_Ehdr, e_machine), EM_X86_64))).code ==
        ErrorCode::corruption);
  CHECK(refused(test, with_image(cubin, changed(cubin, offsetof(Elf64_Ehdr, e_shoff) + 7, 0x7f))).code ==
        ErrorCode::corruption);
}

TEST_CASE("Every truncation of a cubin is refused before the driver sees it") {
  const DriverUnderTest test;
  if (!test.ready) return;
  const Cubin cubin = test.cubin();
  // The section table is at the end of the file, so every truncation is detected.
  for (std::size_t size = 0; size < cubin.image->size(); size += 97) {
    Bytes image(cubin.image->begin(), cubin.image->begin() + static_cast<std::ptrdiff_t>(size));
    Elf64_Ehdr header{};
    if (image.size() >= sizeof(header)) {
      std::memcpy(&header, image.data(), sizeof(header));
      if (header.e_shoff + std::uint64_t{header.e_shnum} * sizeof(Elf64_Shdr) <= size) continue;
    }
    CHECK(refused(test, with_image(cubin, std::move(image))).code == ErrorCode::corruption);
  }
}

TEST_CASE("A record that states another target than the file is corrupt") {
  const DriverUnderTest test;
  if (!test.ready) return;
  const Cubin listed = with_record(test.cubin(), [](CubinRecord& record) { record.target = {8, 0, {}}; });
  const Error error = refused(test, listed);
  CHECK(error.code == ErrorCode::corruption);
  CHECK(contains(error.message, "sm_80"));
  CHECK(contains(error.message, test.target().to_string()));
}

TEST_CASE("Code for another architecture is unsupported and both are named") {
  const DriverUnderTest test;
  if (!test.ready) return;
  const ComputeCapability capability = test.device->properties().capability;
  for (const SmTarget target : {SmTarget{8, 0, TargetKind::baseline}, SmTarget{10, 0, TargetKind::family},
                                SmTarget{12, 0, TargetKind::specific}}) {
    if (runs_on(target, capability)) continue;
    const Error error = refused(test, cubinet::test::test_cubin(target));
    CHECK(error.code == ErrorCode::unsupported);
    CHECK(contains(error.message, target.to_string()));
    CHECK(contains(error.message, capability.to_string()));
    CHECK(!error.remedy.empty());
  }
}

TEST_CASE("Code for the target of the device and for its baseline both load") {
  const DriverUnderTest test;
  if (!test.ready) return;
  for (const SmTarget target : targets_for(test.device->properties().capability)) {
    const auto module = test.load(cubinet::test::test_cubin(target));
    CHECK(module->record().target == target);
  }
}

TEST_CASE("A record that lists a kernel which the file lacks is corrupt") {
  const DriverUnderTest test;
  if (!test.ready) return;
  const Cubin listed =
      with_record(test.cubin(), [](CubinRecord& record) { record.entry_points[1].symbol = "scale_v2"; });
  const Error error = refused(test, listed);
  CHECK(error.code == ErrorCode::corruption);
  CHECK(contains(error.message, "scale_v2"));
}

TEST_CASE("The bytes may go once the module is loaded") {
  const DriverUnderTest test;
  if (!test.ready) return;
  const Cubin cubin = test.cubin();
  auto copy = std::make_shared<Bytes>(*cubin.image);
  const auto module = test.load({cubin.record, copy});
  REQUIRE(copy.use_count() == 1);
  std::fill(copy->begin(), copy->end(), std::byte{0xff});
  const auto current = test.device->make_current();
  REQUIRE(current);
  const auto function = module->function("vector_add");
  REQUIRE(function);
  CHECK(function->launch({}, static_cast<float*>(nullptr), static_cast<const float*>(nullptr),
                         static_cast<const float*>(nullptr), 0U));
}

TEST_CASE("A function keeps its module loaded and the last one unloads it") {
  DriverUnderTest test;
  if (!test.ready) return;
  std::weak_ptr<const Module> module;
  Function kept;
  {
    const auto loaded = test.load(test.cubin());
    module = loaded;
    kept = *loaded->function("scale");
  }
  test.device = nullptr;
  test.driver = nullptr;
  CHECK(!module.expired());
  CHECK(kept.entry_point().name == "scale");
  if (test.stub != nullptr) CHECK(test.stub->live("image") == 1);
  kept = {};
  CHECK(module.expired());
  if (test.stub != nullptr) {
    CHECK(test.stub->live("image") == 0);
    CHECK(test.stub->live("context") == 0);
  }
}
