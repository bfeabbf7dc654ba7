// SPDX-License-Identifier: Apache-2.0
#include "recorded_cache.hpp"

#include <algorithm>
#include <sys/stat.h>

namespace cubinet {
namespace {

namespace fs = std::filesystem;
using test::ok;
using test::TempDir;

std::string reason_of(const AdoptionReport& report, std::string_view entry) {
  const auto found = std::find_if(report.left_out.begin(), report.left_out.end(),
                                  [&](const LeftOut& each) { return each.entry == entry; });
  return found == report.left_out.end() ? std::string() : found->reason;
}

KernelSpec spec_of(const CubinRecord& record) {
  return ok(decode_kernel(record.identity.kernel_encoding()));
}

// A copy that a test may change.
struct Copied {
  TempDir temp;
  fs::path cache = temp / "cache";
  std::shared_ptr<Home> home = test::open_home(temp);
  explicit Copied(std::string_view name) {
    fs::copy(test::recorded(name), cache, fs::copy_options::recursive);
  }
  AdoptionReport adopt(const std::string& version = {}) const {
    return ok(adopt_cache(*home, cache.string(), version));
  }
};

TEST_CASE("a recorded cache of Triton is entries of the home that are found, verified and removed") {
  const Copied copy("triton-3.9.0");
  const AdoptionReport report = copy.adopt();
  CHECK(report.tool == "triton");
  CHECK(report.left_out.empty());
  CHECK(report.present == 0);
  REQUIRE(report.adopted.size() == 2);
  for (const auto& record : report.adopted) {
    CHECK(record->kind == ImageKind::cache_entry);
    CHECK(record->origin == CubinOrigin::compiled);
    CHECK_FALSE(record->compiler.empty());
    const KernelSpec spec = spec_of(*record);
    CHECK(spec.maker == KernelMaker::tool);
    CHECK(spec.name == "triton");
    CHECK(to_string(spec.parameters.at("version")) == "3.9.0");
    CHECK(to_string(spec.parameters.at("kernel")) == "scale");
    CHECK_FALSE(spec.parameters.contains("host"));
    CHECK(ok(copy.home->find(identify(spec))).size() == 1);
  }
  CHECK(ok(copy.home->list()).size() == 2);
  CHECK(ok(copy.home->find_function("scale")).empty());  // nothing that a loader could take
  CHECK(ok(copy.home->stats()).entries == 2);
  CHECK(ok(copy.home->verify()).findings.empty());
  CHECK(ok(copy.home->sweep()).files == 0);
  CHECK(ok(copy.home->remove(report.adopted)) == 2);
  CHECK(ok(copy.home->stats()).cubin_bytes == 0);
}

TEST_CASE(
    "a cache that is adopted twice is there already, and what changed takes the place of what was before") {
  const Copied copy("triton-3.9.0");
  copy.adopt();
  const AdoptionReport again = copy.adopt();
  CHECK(again.adopted.empty());
  CHECK(again.present == 2);
  const fs::path text = copy.cache / test::kTritonHopper / "scale.ttir";
  test::write_file(text, "// compiled elsewhere");
  CHECK(copy.adopt().adopted.size() == 1);
  CHECK(ok(copy.home->list()).size() == 2);
  CHECK(ok(copy.home->stats()).cubins == 2);
}

TEST_CASE("an entry that was damaged in the home is whole once it is adopted again") {
  const Copied copy("triton-3.9.0");
  copy.adopt();
  for (const auto& entry : fs::recursive_directory_iterator(copy.temp / "home")) {
    if (entry.path().extension() != ".cubin") continue;
    fs::permissions(entry.path(), fs::perms::owner_all);
    test::write_file(entry.path(), "damaged");
  }
  CHECK_FALSE(ok(copy.home->verify()).findings.empty());
  copy.adopt();
  CHECK(ok(copy.home->verify()).findings.empty());
}

TEST_CASE("a version that no file tells has to be said, and one that is told has to be the same") {
  const Copied triton("triton-3.9.0");
  const AdoptionReport wrong = triton.adopt("3.6.0");
  CHECK(wrong.adopted.empty());
  CHECK(reason_of(wrong, test::kTritonHopper) == "it was made by version 3.9.0");
  const Copied core("cuda.core-1.2.2");
  const AdoptionReport unsaid = core.adopt();
  CHECK(unsaid.tool == "cuda.core");
  CHECK(unsaid.adopted.empty());
  CHECK(reason_of(unsaid, test::kCudaCoreHopper).find("which version") != std::string::npos);
  const AdoptionReport said = core.adopt("1.2.2");
  REQUIRE(said.adopted.size() == 1);
  CHECK(to_string(spec_of(*said.adopted.front()).parameters.at("entry")) == test::kCudaCoreHopper);
}

TEST_CASE("a cache of DeepJIT is adopted under the version that is said") {
  const TempDir temp;
  test::write_deepjit_cache(temp / "dj");
  const auto home = test::open_home(temp);
  const AdoptionReport report = ok(adopt_cache(*home, (temp / "dj").string(), "1.0"));
  CHECK(report.tool == "deepjit");
  REQUIRE(report.adopted.size() == 1);
  CHECK(report.adopted.front()->compiler == "CUDA 12.9");
  CHECK(report.adopted.front()->target_name() == "sm_90a");
}

TEST_CASE("what leads out of a cache is left out and named") {
  const Copied copy("triton-3.9.0");
  const std::string hopper(test::kTritonHopper);
  const std::string ampere(test::kTritonAmpere);
  // An entry that is a link, and a file of one that is.
  fs::rename(copy.cache / ampere, copy.temp / "elsewhere");
  fs::create_symlink(copy.temp / "elsewhere", copy.cache / ampere);
  fs::rename(copy.cache / hopper / "scale.cubin", copy.temp / "code");
  fs::create_symlink(copy.temp / "code", copy.cache / hopper / "scale.cubin");
  const AdoptionReport report = copy.adopt();
  CHECK(report.adopted.empty());
  CHECK(report.left_out.size() == 2);
  CHECK_FALSE(reason_of(report, hopper).empty());
  CHECK_FALSE(reason_of(report, ampere).empty());
  CHECK(ok(copy.home->list()).empty());
}

TEST_CASE("what a tool is still writing, and files of others, are no part of an entry") {
  const Copied copy("triton-3.9.0");
  fs::create_directory(copy.cache / test::kTritonHopper / "tmp.pid_7_x");
  test::write_file(copy.cache / "README", "x");
  fs::create_directory(copy.cache / "not-an-entry");
  CHECK(copy.adopt().adopted.size() == 2);
  const Copied other("triton-3.9.0");
  test::write_file(other.cache / test::kTritonHopper / "a b", "x");
  const AdoptionReport report = other.adopt();
  CHECK(report.adopted.size() == 1);
  CHECK(reason_of(report, test::kTritonHopper).find("'a b'") != std::string::npos);
}

TEST_CASE("a host library is adopted as what it is, under the version that is said") {
  const Copied copy("triton-3.9.0");
  const std::string entry = "A" + std::string(test::kTritonHopper).substr(1);
  test::write_file(copy.cache / entry / "cuda_utils.cpython-312-x86_64-linux-gnu.so",
                   "\x7f"
                   "ELF");
  CHECK(reason_of(copy.adopt(), entry).find("which version") != std::string::npos);
  const AdoptionReport report = copy.adopt("3.9.0");
  REQUIRE(report.adopted.size() == 1);
  CHECK(spec_of(*report.adopted.front()).parameters.contains("host"));
}

TEST_CASE("a folder that is no cache, or empty, or not there is named") {
  const TempDir temp;
  const auto home = test::open_home(temp);
  for (const auto& folder : {temp / "none", temp / "home", temp.path()})
    CHECK(adopt_cache(*home, folder.string(), "").error().code == ErrorCode::not_found);
}

}  // namespace
}  // namespace cubinet
