// SPDX-License-Identifier: Apache-2.0
#include "cache_entries.hpp"
#include "recorded_cache.hpp"
#include "support/file_size_limit.hpp"
#include "support/sampled.hpp"

#include <cubinet/base/sha256.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <unistd.h>

namespace cubinet {
namespace {

namespace fs = std::filesystem;
using test::ok;
using test::TempDir;

constexpr ComputeCapability kHopper{9, 0};

// A home that has adopted the recorded caches.
struct Adopted {
  TempDir temp;
  std::shared_ptr<Home> home = test::open_home(temp);
  fs::path out = temp / "out" / "cache";

  Adopted() {
    ok(adopt_cache(*home, test::recorded("triton-3.9.0").string(), ""));
    ok(adopt_cache(*home, test::recorded("cuda.core-1.2.2").string(), "1.2.2"));
    test::write_deepjit_cache(temp / "dj");
    ok(adopt_cache(*home, (temp / "dj").string(), "1.0"));
  }
  MaterializeReport put(const std::string& tool, const std::string& version,
                        ComputeCapability device = kHopper, bool host_code = false) const {
    return ok(materialize_cache(*home, {tool, version, device, out.string(), host_code}));
  }
  std::size_t files() const {
    std::size_t count = 0;
    if (!fs::exists(out)) return count;
    for (const auto& entry : fs::recursive_directory_iterator(out))
      count += entry.is_regular_file() ? 1U : 0U;
    return count;
  }
};

fs::perms mode_of(const fs::path& path) {
  return fs::status(path).permissions() & fs::perms::mask;
}

// An image of kind cache_entry whose record says what a test wants it to.
Cubin forged(const std::string& entry, std::vector<CacheFile> files, bool says_host = false,
             const char* tool = "triton") {
  KernelSpec spec{tool, {}, KernelMaker::tool};
  spec.set("entry", entry).set("version", "3.9.0");
  if (says_host) spec.set("host", true);
  const SmTarget target = says_host ? known_targets().front() : SmTarget{9, 0, TargetKind::specific};
  Bytes image = encode_cache_entry(files);
  CubinRecord record;
  record.identity = identify(spec, target);
  record.target = target;
  record.kind = ImageKind::cache_entry;
  record.digest = sha256(image);
  record.fingerprint.digest = record.digest;
  record.size = image.size();
  return {std::make_shared<const CubinRecord>(record), std::make_shared<const Bytes>(std::move(image))};
}

TEST_CASE("an entry of Triton lies where it looks, with the paths of that place, for reading alone") {
  const Adopted adopted;
  const MaterializeReport report = adopted.put("triton", "3.9.0");
  CHECK(report.written == std::vector<std::string>{std::string(test::kTritonHopper)});
  REQUIRE(report.left_out.size() == 1);  // the other device's
  CHECK(report.left_out.front().entry == test::kTritonAmpere);
  const fs::path entry = adopted.out / test::kTritonHopper;
  const auto group = nlohmann::json::parse(test::read_file(entry / "__grp__scale.json"));
  REQUIRE(group["child_paths"].size() == 7);
  for (const auto& [name, path] : group["child_paths"].items()) {
    CHECK(path == (entry / name).string());
    CHECK(test::read_file(entry / name) ==
          test::read_file(test::recorded("triton-3.9.0") / test::kTritonHopper / name));
    CHECK(mode_of(entry / name) == fs::perms(0444));
  }
  CHECK((mode_of(entry) & fs::perms::owner_all) == fs::perms::owner_all);
  CHECK((mode_of(adopted.out) & fs::perms::owner_all) == fs::perms::owner_all);
  // Nothing of the writing stays.
  CHECK(std::distance(fs::directory_iterator(adopted.out), fs::directory_iterator()) == 1);
}

TEST_CASE("what is put is adopted as what it was") {
  const Adopted adopted;
  adopted.put("triton", "3.9.0");
  const AdoptionReport again = ok(adopt_cache(*adopted.home, adopted.out.string(), ""));
  CHECK(again.present == 1);
  CHECK(again.adopted.empty());
}

TEST_CASE("entries of DeepJIT and cuda core lie as they lay") {
  const Adopted adopted;
  CHECK(adopted.put("deepjit", "1.0").written.size() == 1);
  const fs::path deepjit = fs::path("cache") / test::kDeepJit;
  CHECK(test::files_in(adopted.out / deepjit) == test::files_in(adopted.temp / "dj" / deepjit));
  CHECK(fs::exists(adopted.out / deepjit / ".committed"));
  CHECK(adopted.put("cuda.core", "1.2.2").written.size() == 1);
  const std::string name(test::kCudaCoreHopper);
  const fs::path core = fs::path("entries") / name.substr(0, 2) / name.substr(2);
  CHECK(test::read_file(adopted.out / core) == test::read_file(test::recorded("cuda.core-1.2.2") / core));
  CHECK(mode_of(adopted.out / core) == fs::perms(0444));
}

TEST_CASE("another version of the tool gets nothing, and a device what it would look for") {
  const Adopted adopted;
  CHECK(adopted.put("triton", "3.6.0").left_out.size() == 2);
  CHECK(adopted.put("cuda.core", "1.2.3").left_out.size() == 1);
  CHECK(adopted.put("triton", "3.9.0", {10, 0}).written.empty());
  CHECK(adopted.put("cuda.core", "1.2.2", {10, 0}).written.empty());
  CHECK(adopted.put("deepjit", "1.0", {8, 0}).written.empty());
  // It would run on 8.6, and Triton does not ask for it there.
  CHECK(adopted.put("triton", "3.9.0", {8, 6}).written.empty());
  CHECK(adopted.files() == 0);
  CHECK(adopted.put("triton", "3.9.0", {8, 0}).written ==
        std::vector<std::string>{std::string(test::kTritonAmpere)});
  CHECK(materialize_cache(*adopted.home, {"tilelang", "1", kHopper, adopted.out.string(), false})
            .error()
            .code == ErrorCode::invalid_argument);
}

TEST_CASE("every version gets what no version is stated for, and without a version all is put") {
  const Adopted adopted;
  const std::string entry = "A" + std::string(test::kTritonHopper).substr(1);
  const auto image = [&](const char* version) {
    EntryFacts facts;
    facts.target = known_targets().front();
    facts.host_code = true;
    return ok(image_of_entry(kTritonCache, entry, {test::cache_file("x.so", "ELF")}, facts, version));
  };
  ok(keep_entry(*adopted.home, image(kUnstatedVersion)));
  CHECK(adopted.put("triton", "3.6.0", kHopper, true).written == std::vector<std::string>{entry});
  CHECK(adopted.put("triton", "", kHopper, true).written ==
        std::vector<std::string>{std::string(test::kTritonHopper)});
  CHECK(adopted.put("triton", "", kHopper, true).present.size() == 2);
}

TEST_CASE("what lies there already is left as it is, and named unless it is the same") {
  const Adopted adopted;
  adopted.put("triton", "3.9.0");
  CHECK(adopted.put("triton", "3.9.0").present.size() == 1);
  const fs::path file = adopted.out / test::kTritonHopper / "scale.cubin";
  fs::permissions(file, fs::perms::owner_all);
  test::write_file(file, "the tool's own");
  const MaterializeReport report = adopted.put("triton", "3.9.0");
  CHECK(report.present.empty());
  CHECK(report.written.empty());
  CHECK(report.left_out.size() == 2);
  CHECK(test::read_file(file) == "the tool's own");
  // The folder that a miss of Triton's leaves behind is in nobody's way.
  fs::remove_all(adopted.out / test::kTritonHopper);
  fs::create_directory(adopted.out / test::kTritonHopper);
  CHECK(adopted.put("triton", "3.9.0").written.size() == 1);
  adopted.put("cuda.core", "1.2.2");
  CHECK(adopted.put("cuda.core", "1.2.2").present.size() == 1);
}

TEST_CASE("what a writer of an older version that was killed left goes after an hour") {
  const Adopted adopted;
  for (const char* name : {".cubinet.1.0.tmp", ".cubinet.2.0.tmp", "mine"})
    test::write_file(adopted.out / name / "f", "x");
  for (const char* name : {".cubinet.1.0.tmp", "mine"})
    fs::last_write_time(adopted.out / name, fs::file_time_type::clock::now() - std::chrono::hours(2));
  adopted.put("triton", "3.9.0");
  CHECK_FALSE(fs::exists(adopted.out / ".cubinet.1.0.tmp"));
  CHECK(fs::exists(adopted.out / ".cubinet.2.0.tmp"));
  CHECK(fs::exists(adopted.out / "mine" / "f"));
}

TEST_CASE("a full disk ends the writing, and the report has what was written before and what exists") {
  const Adopted adopted;
  const std::string last = "Z" + std::string(test::kTritonHopper).substr(1);
  const std::string first = "A" + last.substr(1);
  ok(adopted.home->publish(forged(first, {test::cache_file("x.so", "ELF")}, true)));
  ok(adopted.home->publish(forged(last, {test::cache_file("x.so", "ELF")}, true)));
  const auto put = [&] { return adopted.put("triton", "3.9.0", kHopper, true); };
  MaterializeReport report;
  {
    const test::FileSizeLimit limit(1024);  // less than the recorded entry has
    report = put();
  }
  REQUIRE(report.error);
  CHECK(report.error->code == ErrorCode::io);
  CHECK_FALSE(fs::exists(adopted.out / test::kTritonHopper));
  // The store lists in the order of its keys. Whatever came before the failure is written.
  for (const std::string& entry : report.written)
    CHECK(fs::exists(adopted.out / entry));
  CHECK(report.written.size() + report.left_out.size() == 4);
  CHECK_FALSE(put().error);
  {
    const test::FileSizeLimit limit(0);
    report = put();
  }
  CHECK_FALSE(report.error);
  CHECK(report.present.size() == 3);
  fs::remove_all(adopted.out / first);
  {
    const test::FileSizeLimit limit(0);
    report = put();
  }
  CHECK(report.error);
  CHECK(report.present.size() == 2);
}

TEST_CASE("a link that lies where an entry should is not followed") {
  const Adopted adopted;
  fs::create_directories(adopted.temp / "outside");
  fs::create_directories(adopted.out);
  fs::create_symlink(adopted.temp / "outside", adopted.out / test::kTritonHopper);
  fs::create_symlink(adopted.temp / "outside", adopted.out / "entries");
  CHECK(adopted.put("triton", "3.9.0").written.empty());
  CHECK_FALSE(materialize_cache(*adopted.home, {"cuda.core", "1.2.2", kHopper, adopted.out.string(), false}));
  CHECK(fs::is_empty(adopted.temp / "outside"));
}

TEST_CASE("with any one byte of its image flipped an entry is not put" * doctest::test_suite("loop")) {
  const TempDir temp;
  const auto home = test::open_home(temp);
  const auto adopt = [&] { ok(adopt_cache(*home, test::recorded("cuda.core-1.2.2").string(), "1.2.2")); };
  adopt();
  fs::path image;
  for (const auto& entry : fs::recursive_directory_iterator(temp / "home")) {
    if (entry.path().extension() == ".cubin") image = entry.path();
  }
  const std::string whole = test::read_file(image);
  REQUIRE(whole.size() > 3000);
  for (const std::size_t byte : test::sampled(whole.size(), 8)) {
    std::string changed = whole;
    changed[byte] = static_cast<char>(changed[byte] ^ 1);
    fs::remove(image);
    test::write_file(image, changed);
    HomeOptions options;
    options.path = (temp / "home").string();
    options.access = HomeOptions::Access::read_only;
    const auto read = ok(Home::open(options));
    const auto report =
        ok(materialize_cache(*read, {"cuda.core", "1.2.2", kHopper, (temp / "out").string(), true}));
    REQUIRE(report.written.empty());
    REQUIRE(report.left_out.size() == 1);
  }
  fs::remove(image);
  adopt();
  CHECK(ok(materialize_cache(*home, {"cuda.core", "1.2.2", kHopper, (temp / "out").string(), false}))
            .written.size() == 1);
}

TEST_CASE("what runs on the host is put only where somebody who is trusted has signed it") {
  const Adopted adopted;
  const std::string entry = "A" + std::string(test::kTritonHopper).substr(1);
  const CacheFile library = test::cache_file("cuda_utils.cpython-312-x86_64-linux-gnu.so", "ELF");
  ok(adopted.home->publish(forged(entry, {library}, true)));
  const auto left_out = adopted.put("triton", "3.9.0").left_out;
  CHECK(std::any_of(left_out.begin(), left_out.end(), [&](const LeftOut& each) {
    return each.entry == entry && each.reason.find("signed") != std::string::npos;
  }));
  CHECK_FALSE(fs::exists(adopted.out / entry));
  // For whatever device: it has none.
  CHECK(adopted.put("triton", "3.9.0", {12, 0}, true).written == std::vector<std::string>{entry});
  CHECK(test::read_file(adopted.out / entry / library.name) == "ELF");
}

TEST_CASE("an entry that is not what its record says is not put, whoever signed it") {
  const Adopted adopted;
  const std::string entry = "A" + std::string(test::kTritonHopper).substr(1);
  const CacheFile library = test::cache_file("x.so", "ELF");
  // Listed as machine code, machine code as a library, names that lead elsewhere, another tool's.
  ok(adopted.home->publish(forged(entry, {library})));
  ok(adopted.home->publish(forged("../../x", {library}, true)));
  ok(adopted.home->publish(forged("/tmp/x", {library}, true)));
  ok(adopted.home->publish(forged(entry, {test::cache_file("scale.cubin", "x")}, true)));
  ok(adopted.home->publish(forged(std::string(test::kCudaCoreHopper), {library}, false, "cuda.core")));
  for (const bool host_code : {false, true}) {
    CHECK(adopted.put("triton", "3.9.0", {12, 0}, host_code).written.empty());
    CHECK(adopted.put("triton", "3.9.0", {7, 5}, host_code).written.empty());
    CHECK(adopted.put("cuda.core", "3.9.0", kHopper, host_code).written.empty());
  }
  CHECK(adopted.files() == 0);
  CHECK_FALSE(fs::exists(adopted.temp / "x"));
  // For this device there is one that is what it says.
  CHECK(adopted.put("triton", "3.9.0", kHopper, true).written ==
        std::vector<std::string>{std::string(test::kTritonHopper)});
}

TEST_CASE("machine code is not put for another device because its record says that it is for the host") {
  const TempDir temp;
  const auto home = test::open_home(temp);
  const std::string entry(test::kTritonHopper);
  const Cubin cubin = forged(entry, test::files_in(test::recorded("triton-3.9.0") / entry));
  KernelSpec spec = ok(decode_kernel(cubin.record->identity.kernel_encoding()));
  CubinRecord record = *cubin.record;
  record.identity = identify(spec.set("host", true), record.target);
  ok(home->publish({std::make_shared<const CubinRecord>(record), cubin.image}));
  const auto report =
      ok(materialize_cache(*home, {"triton", "3.9.0", {12, 0}, (temp / "out").string(), true}));
  CHECK(report.written.empty());
  CHECK(report.left_out.size() == 1);
}

TEST_CASE("the folder of a process with the same id in another container is left alone") {
  const Adopted adopted;
  for (int count = 0; count < 1000; ++count) {
    const std::string name = ".cubinet." + std::to_string(::getpid()) + "." + std::to_string(count) + ".tmp";
    fs::create_directories(adopted.out / name);
    test::write_file(adopted.out / name / "theirs", "x");
  }
  CHECK_FALSE(adopted.put("triton", "3.9.0").written.empty());
  CHECK_FALSE(adopted.put("deepjit", "").written.empty());
  std::size_t kept = 0;
  for (const auto& entry : fs::directory_iterator(adopted.out))
    kept += fs::exists(entry.path() / "theirs") && entry.path().extension() == ".tmp" ? 1U : 0U;
  CHECK(kept == 1000);
}

}  // namespace
}  // namespace cubinet
