// SPDX-License-Identifier: Apache-2.0
// Which build of decode attention a device gets. Needs a GPU of compute capability 9.0.
#include "runtime_fixture.hpp"
#include "support/skip.hpp"

#include <cubinet/cubin_registry/bundle.hpp>
#include <cubinet/loader/driver.hpp>
#include <cubinet/loader/module.hpp>

namespace {

using namespace cubinet;
using namespace cubinet::test;

constexpr SmTarget kSpecific{9, 0, TargetKind::specific};
constexpr SmTarget kBaseline{9, 0, TargetKind::baseline};
constexpr SmTarget kForeign{10, 0, TargetKind::specific};

KernelSpec decode_spec() {
  return KernelSpec{"attention_decode", {}}.set("head_dim_qk", 128).set("head_dim_v", 128);
}

RuntimeOptions options_for(const std::filesystem::path& home, Journal* journal, CompilePolicy compile) {
  RuntimeOptions options;
  options.stores = {open_home(home)};
  options.compiler = compiler_search();
  options.compile = compile;
  options.observer = journal->observer();
  options.log = journal->sink();
  return options;
}

// Skips the test where there is none.
bool on_hopper() {
  const auto driver = Driver::open({});
  if (driver && !(*driver)->devices().empty() &&
      (*driver)->devices().front().capability == ComputeCapability{9, 0})
    return true;
  skip("there is no device of compute capability 9.0");
  return false;
}

Cubin build(Runtime& runtime, SmTarget target) {
  auto found = runtime.cubin(decode_spec(), target);
  REQUIRE_MESSAGE(found, (found ? "" : found.error().to_line()));
  REQUIRE(found->has_value());
  return (*found)->cubin;
}

// The target of what a new Runtime loads and can ask the driver about; nullopt for a miss.
std::optional<SmTarget> loaded_target(const std::filesystem::path& home) {
  Journal journal;
  const auto runtime = make_runtime(options_for(home, &journal, CompilePolicy::never));
  const auto function = runtime->function(decode_spec(), 0);
  if (!function) return std::nullopt;
  CHECK(*function->maximum_blocks_per_multiprocessor(function->entry_point().threads,
                                                     function->entry_point().dynamic_shared_bytes) > 0);
  REQUIRE(journal.events.size() == 1);
  CHECK(journal.events.front().source == KernelSource::registry);
  return journal.events.front().target;
}

}  // namespace

TEST_CASE(
    "decode attention of the specific target goes before the baseline, and a removal falls back to it") {
  if (!on_hopper()) return;
  const TempDir folder;
  Journal journal;
  const auto builder = make_runtime(options_for(folder / "home", &journal, CompilePolicy::on_miss));
  CHECK_FALSE(loaded_target(folder / "home").has_value());
  build(*builder, kBaseline);
  CHECK(loaded_target(folder / "home") == kBaseline);
  const Cubin specific = build(*builder, kSpecific);
  CHECK(loaded_target(folder / "home") == kSpecific);
  REQUIRE(*open_home(folder / "home")->remove({specific.record}) == 1);
  CHECK(loaded_target(folder / "home") == kBaseline);
}

TEST_CASE("a foreign cubin that is labelled with the device target is refused before the driver sees it") {
  if (!on_hopper()) return;
  const TempDir folder;
  Journal journal;
  const auto builder = make_runtime(options_for(folder / "home", &journal, CompilePolicy::on_miss));
  const Cubin foreign = build(*builder, kForeign);
  // Everything about the lie is consistent but the ELF itself.
  CubinRecord forged = *foreign.record;
  const auto spec = decode_kernel(forged.identity.kernel_encoding());
  REQUIRE(spec);
  forged.identity = identify(*spec, kSpecific);
  forged.target = kSpecific;
  const Cubin lie{std::make_shared<const CubinRecord>(forged), foreign.image};

  const auto device = builder->device(0);
  REQUIRE(device);
  const auto module = Module::load(*device, lie);
  REQUIRE_FALSE(module);
  CHECK(module.error().code == ErrorCode::corruption);
  CHECK_MESSAGE(module.error().message.find("sm_100a") != std::string::npos, module.error().message);

  // In a bundle: nothing is served where compiling is off, and what is built instead is the real
  // thing.
  const auto bundle = folder / "forged.cubundle";
  const auto created = create_bundle(bundle, {lie}, {"forged", 1});
  if (!created) {
    CHECK(created.error().code == ErrorCode::corruption);
    return;
  }
  for (const CompilePolicy policy : {CompilePolicy::never, CompilePolicy::on_miss}) {
    Journal told;
    auto options = options_for(folder / "empty", &told, policy);
    options.stores = {open_bundle(bundle)};
    const auto runtime = make_runtime(std::move(options));
    const auto function = runtime->function(decode_spec(), 0);
    CHECK(function.has_value() == (policy == CompilePolicy::on_miss));
    if (function) CHECK(function->record().digest != foreign.record->digest);
  }
}
