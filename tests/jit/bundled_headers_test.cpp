// SPDX-License-Identifier: Apache-2.0
#include "bundled_headers.hpp"

#include "jit/test_templates.hpp"
#include "support/compiler_search.hpp"
#include "support/temp_dir.hpp"

#include <cubinet/base/file_system.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <sys/stat.h>
#include <thread>

using namespace cubinet;
namespace fs = std::filesystem;

namespace {

const std::string kBody = R"cu(#include <cuda_fp16.h>
#include <cuda/std/cstdint>
extern "C" __global__ void scale(float* p) { *p = __half2float(__float2half(*p)) + cuda::std::uint8_t{1}; }
)cu";

// A later NVRTC, of a wheel without headers beside it, and a home of a test's own.
struct Wheel {
  test::TempDir folder;
  CompilerSearch search;
  bool there = false;

  Wheel() {
    const auto found = test::later_compiler_search();
    there = found.has_value();
    if (there) search = *found;
    search.bundled_headers = headers().string();
  }
  fs::path home() const { return folder / "home"; }
  fs::path headers() const { return home() / "headers"; }
  std::shared_ptr<Compiler> compiler() const {
    const auto opened = Compiler::open(search);
    REQUIRE_MESSAGE(opened, opened.error().message);
    return *opened;
  }
  std::vector<fs::path> places() const {
    return {fs::directory_iterator(headers()), fs::directory_iterator()};
  }
};

Error refused(const Wheel& wheel) {
  const auto output = wheel.compiler()->compile(test::scale_request(kBody));
  REQUIRE_FALSE(output);
  CHECK(output.error().message.find("cuda_fp16.h") != std::string::npos);
  return output.error();
}

}  // namespace

TEST_CASE("headers that are within NVRTC alone are put into a folder once and read from there") {
  const Wheel wheel;
  if (!wheel.there) return;
  const auto first = wheel.compiler();
  // A source that asks for none has none made for it.
  REQUIRE(first->compile(test::scale_request()));
  CHECK_FALSE(fs::exists(wheel.home()));
  fs::create_directories(wheel.headers() / ".left-over.1.0.5.tmp");
  fs::last_write_time(wheel.headers() / ".left-over.1.0.5.tmp",
                      fs::file_time_type::clock::now() - std::chrono::hours(2));

  const mode_t mask = ::umask(0);
  const auto fingerprint = first->fingerprint(test::scale_request(kBody));
  ::umask(mask);
  REQUIRE(fingerprint);
  REQUIRE(wheel.places().size() == 1);
  const fs::path place = wheel.places().front();
  CHECK(fs::exists(place / "cuda_fp16.h"));
  CHECK(fs::exists(place / "cccl/cuda/std/cstdint"));
  for (const auto& entry : fs::recursive_directory_iterator(wheel.headers())) {
    CHECK_FALSE(entry.path().filename().string().starts_with('.'));
    const fs::perms modes = entry.symlink_status().permissions();
    CHECK((modes & (fs::perms::group_write | fs::perms::others_write)) == fs::perms::none);
  }
  const auto made = fs::last_write_time(place / "cuda_fp16.h");
  for (const auto& compiler : {first, wheel.compiler()}) {
    const auto output = compiler->compile(test::scale_request(kBody));
    REQUIRE_MESSAGE(output, (output.error().message + output.error().detail));
    CHECK(output->record.fingerprint == *fingerprint);
    CHECK(*compiler->fingerprint(test::scale_request(kBody)) == *fingerprint);
  }
  CHECK(wheel.places().size() == 1);
  CHECK(fs::last_write_time(place / "cuda_fp16.h") == made);
}

TEST_CASE("several put the headers that are within NVRTC into one folder at once") {
  const Wheel wheel;
  if (!wheel.there) return;
  std::vector<std::optional<BuildFingerprint>> fingerprints(4);
  std::vector<std::thread> threads;
  for (auto& fingerprint : fingerprints) {
    threads.emplace_back([&] {
      if (const auto told = wheel.compiler()->fingerprint(test::scale_request(kBody))) fingerprint = *told;
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  CHECK(wheel.places().size() == 1);
  for (const auto& fingerprint : fingerprints) {
    REQUIRE(fingerprint);
    CHECK(*fingerprint == *fingerprints.front());
  }
}

TEST_CASE("where the headers within NVRTC cannot be put or trusted the error says why") {
  const Wheel wheel;
  if (!wheel.there) return;
  fs::create_directories(wheel.headers());
  for (const fs::path& folder : {wheel.headers(), wheel.home()}) {
    fs::permissions(folder, fs::perms{0777});
    const Error error = refused(wheel);
    CHECK_MESSAGE(error.message.find("'" + folder.string() + "'") != std::string::npos, error.message);
    CHECK(error.message.find("can be written by others") != std::string::npos);
    fs::permissions(folder, fs::perms{0755});
  }
  CHECK(wheel.places().empty());
  fs::remove(wheel.headers());
  std::ofstream(wheel.headers()) << "a file";
  CHECK_MESSAGE(
      refused(wheel).message.find("cannot be put into '" + wheel.headers().string()) != std::string::npos,
      refused(wheel).message);
}

TEST_CASE("what was put there and others can write is not read any more") {
  const Wheel wheel;
  if (!wheel.there) return;
  REQUIRE(wheel.compiler()->compile(test::scale_request(kBody)));
  fs::permissions(wheel.places().front(), fs::perms{0777});
  CHECK(refused(wheel).message.find("can be written by others") != std::string::npos);
}

TEST_CASE("a folder of a relative name, or with a slash behind it, is the one that it leads to") {
  const std::string here = fs::current_path().string();
  const auto expected = BundledHeaders(here + "/home/headers", "a compiler").folders();
  for (const char* name : {"home/headers", "home/headers/", "./home/x/../headers"})
    CHECK(BundledHeaders(name, "a compiler").folders() == expected);
}

TEST_CASE("an NVRTC that has no headers within it says what to install") {
  const test::TempDir folder;
  const auto found = find_compilers(test::compiler_search());
  REQUIRE_FALSE(found.empty());
  const auto api = NvrtcApi::open(found.front().library, found.front().builtins);
  REQUIRE(api);
  if ((*api)->install_bundled_headers != nullptr) return;  // it is 13.3 or later
  const auto installed = BundledHeaders(folder / "headers", "a compiler").install(**api);
  REQUIRE_FALSE(installed);
  CHECK(installed.error().code == ErrorCode::unavailable);
  CHECK(installed.error().remedy.find("nvidia-cuda-runtime") != std::string::npos);
}

TEST_CASE("headers of compilers that are not there any more are counted, then taken away, and others stay") {
  const test::TempDir folder;
  const fs::path headers = folder / "home/headers";
  CHECK(BundledHeaders::sweep(headers, {}, true)->folders == 0);
  fs::path needed;
  for (const char* compiler : {"old", "older", "needed"}) {
    needed = BundledHeaders(headers, compiler).folders().front();
    fs::create_directories(needed / "cccl");
    std::ofstream(needed / "cccl/header.h") << "12345";
  }
  fs::create_directories(headers / "not a release");
  const auto counted = BundledHeaders::sweep(headers, {"needed", "another"}, false);
  REQUIRE_MESSAGE(counted.has_value(), counted.error().message);
  CHECK(counted->folders == 2);
  CHECK(counted->bytes == 10);
  CHECK(std::distance(fs::directory_iterator(headers), fs::directory_iterator()) == 4);
  CHECK(BundledHeaders::sweep(headers, {"needed", "another"}, true)->folders == 2);
  CHECK(fs::exists(needed / "cccl/header.h"));
  CHECK(std::distance(fs::directory_iterator(headers), fs::directory_iterator()) == 2);
  fs::permissions(headers, fs::perms{0777});
  CHECK(BundledHeaders::sweep(headers, {}, true).error().code == ErrorCode::untrusted);
}

TEST_CASE("a compiler whose headers are taken away while it is at work puts them there again") {
  const Wheel wheel;
  if (!wheel.there) return;
  const auto compiler = wheel.compiler();
  const auto before = compiler->fingerprint(test::scale_request(kBody));
  REQUIRE(before);
  CHECK(sweep_bundled_headers(wheel.search, true)->folders == 0);
  REQUIRE(BundledHeaders::sweep(wheel.headers(), {}, true)->folders == 1);
  CHECK(wheel.places().empty());
  const auto output = compiler->compile(test::scale_request(kBody));
  REQUIRE_MESSAGE(output, (output.error().message + output.error().detail));
  CHECK(output->record.fingerprint == *before);
  CHECK(wheel.places().size() == 1);
}
