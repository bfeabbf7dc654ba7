// SPDX-License-Identifier: Apache-2.0
#include "manifest_check.hpp"

#include "catalog_folder.hpp"
#include "support/ok.hpp"

#include <cubinet/base/stopwatch.hpp>

#include <doctest/doctest.h>

namespace cubinet {
namespace {

using test::ok;

// Returns why the manifest of our own catalog is refused after a change.
template <class Change>
std::string change_refusal(const Change& change) {
  std::map<std::string, Bytes> contents;
  SourceManifest manifest = test::own_catalog(contents);
  change(manifest);
  const auto checked = check_manifest(manifest, "m");
  if (checked) return "accepted";
  CHECK(checked.error().code == ErrorCode::invalid_argument);
  return checked.error().message;
}

std::string refusal_of_flags(std::vector<std::string> flags) {
  return change_refusal([&](SourceManifest& manifest) { manifest.kernels.front().flags = std::move(flags); });
}

TEST_CASE("A manifest that nothing is wrong with is accepted") {
  CHECK(change_refusal([](SourceManifest&) {}) == "accepted");
}

TEST_CASE("A path that leaves its folder is refused") {
  for (const char* path : {"../a.cu", "/etc/passwd", "a/../../b", "a//b", "./a", "a/.", "", "a\\b", "a\nb"}) {
    CAPTURE(path);
    CHECK(change_refusal([&](SourceManifest& manifest) {
            manifest.files.front().path = path;
          }).find("leaves its folder") != std::string::npos);
    CHECK(change_refusal([&](SourceManifest& manifest) {
            manifest.licences.front().path = path;
          }).find("leaves its folder") != std::string::npos);
  }
}

TEST_CASE("A name that occurs twice is refused") {
  CHECK(change_refusal([](SourceManifest& manifest) {
          manifest.kernels.push_back(manifest.kernels.front());
        }) == "m: the kernel 'twice_kernel' is named twice");
  CHECK(change_refusal([](SourceManifest& manifest) { manifest.files.push_back(manifest.files.front()); }) ==
        "m: the file 'csrc/twice.h' is listed twice");
}

TEST_CASE("A name that is no name is refused") {
  for (const char* name : {"", "a b", "-a", ".a", "a/b", "a'"}) {
    CAPTURE(name);
    CHECK(change_refusal([&](SourceManifest& manifest) {
            manifest.kernels.front().name = name;
          }).find("no name") != std::string::npos);
    CHECK(change_refusal([&](SourceManifest& manifest) { manifest.name = name; }).find("no name") !=
          std::string::npos);
  }
  CHECK(change_refusal([](SourceManifest& manifest) {
          manifest.kernels.front().symbol = "a b";
        }).find("no symbol") != std::string::npos);
  CHECK(change_refusal([](SourceManifest& manifest) { manifest.kernels.clear(); }) == "m: it has no kernels");
}

TEST_CASE("A file that is not listed is refused") {
  CHECK(change_refusal([](SourceManifest& manifest) {
          manifest.kernels.front().source = "other.cu";
        }).find("'other.cu' is not among the listed files") != std::string::npos);
  CHECK(change_refusal([](SourceManifest& manifest) {
          manifest.kernels.front().headers = {"NOTICE"};
        }).find("'NOTICE' is not among the listed files") != std::string::npos);
}

TEST_CASE("A launch that no device has is refused") {
  using Extents = std::array<std::uint32_t, 3>;
  for (const Extents block :
       {Extents{0, 1, 1}, Extents{1025, 1, 1}, Extents{32, 32, 2}, Extents{65536, 65536, 1}}) {
    CHECK(change_refusal([&](SourceManifest& manifest) {
            manifest.kernels.front().block = block;
          }).find("block") != std::string::npos);
  }
  for (const Extents cluster : {Extents{17, 1, 1}, Extents{1, 0, 1}, Extents{2, 1, 1}}) {  // on sm_80
    CHECK(change_refusal([&](SourceManifest& manifest) {
            manifest.kernels.front().cluster = cluster;
          }).find("cluster") != std::string::npos);
  }
  CHECK(change_refusal([](SourceManifest& manifest) {
          manifest.kernels.front().block = {1, 1, 128};
        }).find("128 threads in z") != std::string::npos);
  CHECK(change_refusal([](SourceManifest& manifest) {
          manifest.kernels.front().dynamic_shared_bytes = 300000;
        }).find("300000 bytes of shared memory") != std::string::npos);
}

TEST_CASE("The time of a check grows with the kernels and their files, not with their product") {
  std::map<std::string, Bytes> contents;
  SourceManifest manifest = test::own_catalog(contents);
  const SourceFile file = manifest.files.front();
  const SourceKernel kernel = manifest.kernels.front();
  for (int i = 0; i < 20'000; ++i)
    manifest.files.push_back({"csrc/" + std::to_string(i), file.digest});
  manifest.kernels.clear();
  for (int i = 0; i < 1'000; ++i) {
    manifest.kernels.push_back(kernel);
    manifest.kernels.back().name = "k" + std::to_string(i);
    for (int header = 19'900; header < 20'000; ++header)
      manifest.kernels.back().headers.push_back("csrc/" + std::to_string(header));
  }
  const Stopwatch watch;
  ok(check_manifest(manifest, "m"));
  // A search of every file for every header takes minutes.
  CHECK(watch.seconds() < 20);
}

TEST_CASE("A flag that the table of nvcc does not know is refused by its name") {
  CHECK(refusal_of_flags({"--enable-tvm-ffi"}) ==
        "m: the kernel 'twice_kernel': of its flags, the option '--enable-tvm-ffi' is not known");
  CHECK(refusal_of_flags({"-c"}).find("it makes host code") != std::string::npos);
  CHECK(refusal_of_flags({"-I/include"}).find("a folder of headers") != std::string::npos);
  CHECK(refusal_of_flags({"-o", "x"}).find("an output") != std::string::npos);
  CHECK(refusal_of_flags({"--cubin", "-l"}).find("the value of '-l' is missing") != std::string::npos);
  CHECK(refusal_of_flags({"other.cu"}).find("several inputs") != std::string::npos);
  CHECK(refusal_of_flags({"-arch=sm_90"}).find("the architecture is sm_90, and the target is sm_80") !=
        std::string::npos);
}

TEST_CASE("A stated architecture may be the target") {
  CHECK(refusal_of_flags({"-gencode=arch=compute_80,code=sm_80"}) == "accepted");
  CHECK(refusal_of_flags({"-arch", "sm_80"}) == "accepted");
  SourceKernel kernel;
  kernel.target = ok(SmTarget::parse("sm_90a"));
  kernel.flags = {"--use_fast_math", "-O3", "-DN=4"};
  CHECK(ok(compiler_flags_of(kernel)) == std::vector<std::string>{"--use_fast_math", "-DN=4",
                                                                  "--device-as-default-execution-space",
                                                                  "--device-int128"});
}

}  // namespace
}  // namespace cubinet
