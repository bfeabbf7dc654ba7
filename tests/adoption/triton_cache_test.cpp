// SPDX-License-Identifier: Apache-2.0
#include "recorded_cache.hpp"
#include "support/sampled.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <functional>

namespace cubinet {
namespace {

using test::ok;

std::vector<CacheFile> hopper() {
  return test::files_in(test::recorded("triton-3.9.0") / test::kTritonHopper);
}

std::string& content_of(std::vector<CacheFile>& files, std::string_view name, std::string& text) {
  text = as_text(find_file(files, name)->content);
  return text;
}

// Returns the entry with the JSON of one file changed.
std::vector<CacheFile> with(std::string_view name, const std::function<void(nlohmann::json&)>& change) {
  auto files = hopper();
  const auto file =
      std::find_if(files.begin(), files.end(), [&](const CacheFile& each) { return each.name == name; });
  nlohmann::json value = nlohmann::json::parse(as_text(file->content));
  change(value);
  *file = test::cache_file(file->name, value.dump());
  return files;
}

bool is_taken(std::vector<CacheFile> files) {
  return kTritonCache.read(test::kTritonHopper, files).has_value();
}

TEST_CASE("a recorded entry of Triton says what it is, and is stored without a path") {
  auto files = hopper();
  const EntryFacts facts = ok(kTritonCache.read(test::kTritonHopper, files));
  CHECK(facts.target == SmTarget{9, 0, TargetKind::specific});
  CHECK(facts.kernel == "scale");
  CHECK(facts.version == "3.9.0");
  CHECK(facts.toolchain == "CUDA 13.4");
  CHECK_FALSE(facts.host_code);
  CHECK(files.size() == 8);
  std::string group;
  CHECK(content_of(files, "__grp__scale.json", group).find("/srv") == std::string::npos);
  // Reading the stored files again leaves them unchanged.
  const auto stored = files;
  ok(kTritonCache.read(test::kTritonHopper, files));
  CHECK(files == stored);
}

TEST_CASE("where machine code does not tell its toolchain the PTX tells its version") {
  auto files = test::files_in(test::recorded("triton-3.9.0") / test::kTritonAmpere);
  const EntryFacts facts = ok(kTritonCache.read(test::kTritonAmpere, files));
  CHECK(facts.target == SmTarget{8, 0, TargetKind::baseline});
  CHECK(facts.toolchain.starts_with("PTX "));
}

TEST_CASE("the group of an entry names the folder that it is put into") {
  auto files = hopper();
  ok(kTritonCache.read(test::kTritonHopper, files));
  const auto stored = files;
  ok(kTritonCache.place(files, "/there/KEY"));
  const auto group = nlohmann::json::parse(as_text(find_file(files, "__grp__scale.json")->content));
  REQUIRE(group["child_paths"].size() == 7);
  for (const auto& [name, path] : group["child_paths"].items())
    CHECK(path == "/there/KEY/" + name);
  std::size_t changed = 0;
  for (std::size_t i = 0; i < files.size(); ++i)
    changed += files[i] == stored[i] ? 0U : 1U;
  CHECK(changed == 1);
  CHECK(kTritonCache.place(files, "/there/\xff").error().code == ErrorCode::invalid_argument);
}

TEST_CASE("metadata of another entry, device, backend or kernel is not taken") {
  CHECK(is_taken(hopper()));
  CHECK(is_taken(with("scale.json", [](auto&) {})));
  using Json = nlohmann::json;
  const std::function<void(Json&)> changes[] = {
      [](Json& said) { said["hash"] = std::string(64, '0'); },
      [](Json& said) { said["target"]["arch"] = 100; },
      [](Json& said) { said["target"]["arch"] = "90"; },
      [](Json& said) { said["target"]["backend"] = "hip"; },
      [](Json& said) { said.erase("target"); },
      [](Json& said) { said["name"] = "other"; },
      [](Json& said) { said.erase("triton_version"); },
      [](Json& said) { said = Json::array(); },
  };
  for (const auto& change : changes)
    CHECK_FALSE(is_taken(with("scale.json", change)));
  auto files = hopper();
  CHECK_FALSE(kTritonCache.read(test::kTritonAmpere, files));
}

TEST_CASE("a group that lists what is not in the entry is not taken") {
  using Json = nlohmann::json;
  const auto listing = [](const std::string& name, const Json& path) {
    return with("__grp__scale.json", [&](Json& group) { group["child_paths"][name] = path; });
  };
  CHECK(is_taken(listing("scale.ttir", "/moved/since/scale.ttir")));
  CHECK_FALSE(is_taken(listing("scale.ttir", "/etc/passwd")));
  CHECK_FALSE(is_taken(listing("scale.ttir", 7)));
  CHECK_FALSE(is_taken(listing("scale.hsaco", "/x/scale.hsaco")));  // the hsaco file is missing
  CHECK_FALSE(is_taken(listing("other.cubin", "/x/other.cubin")));
  CHECK_FALSE(is_taken(listing("../scale.ttir", "../scale.ttir")));
  CHECK_FALSE(is_taken(with("__grp__scale.json", [](Json& group) { group = 1; })));
  CHECK_FALSE(
      is_taken(with("__grp__scale.json", [](Json& group) { group["child_paths"].erase("scale.cubin"); })));
  auto files = hopper();
  files.push_back(test::cache_file("scale.so", "x"));  // not a file of the group: Triton ignores it
  REQUIRE(kTritonCache.read(test::kTritonHopper, files));
  CHECK(find_file(files, "scale.so") == nullptr);
  files = hopper();
  std::erase_if(files, [](const CacheFile& file) { return file.name == "__grp__scale.json"; });
  CHECK_FALSE(is_taken(files));
}

TEST_CASE("a library runs on the host, and says no version") {
  std::vector<CacheFile> files = {test::cache_file("cuda_utils.cpython-312-x86_64-linux-gnu.so", "ELF")};
  const EntryFacts facts = ok(kTritonCache.read(test::kTritonHopper, files));
  CHECK(facts.host_code);
  CHECK(facts.version.empty());
  files.push_back(test::cache_file("scale.cubin", "x"));
  CHECK_FALSE(is_taken(files));
}

TEST_CASE("every flipped bit of the metadata and the group gives an answer" * doctest::test_suite("loop")) {
  for (const char* name : {"scale.json", "__grp__scale.json"}) {
    const Bytes whole = find_file(hopper(), name)->content;
    for (const std::size_t bit : test::sampled(whole.size() * 8, 25)) {
      auto files = hopper();
      for (CacheFile& file : files) {
        if (file.name == name) file.content[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
      }
      if (!kTritonCache.read(test::kTritonHopper, files)) continue;
      for (const CacheFile& file : files)
        CHECK(is_cache_file_name(file.name));
    }
  }
}

}  // namespace
}  // namespace cubinet
