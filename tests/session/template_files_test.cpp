// SPDX-License-Identifier: Apache-2.0
#include "support/ok.hpp"
#include "support/temp_dir.hpp"

#include <cubinet/base/file_system.hpp>
#include <cubinet/session/template_files.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

using namespace cubinet;
using test::ok;

namespace {

constexpr const char* kTemplate = R"(/* cubinet-template {"name": "own", "interface": 1,
  "kernels": [{"name": "own", "threads": 32}]} */
)";

}  // namespace

TEST_CASE("a catalog has the templates of the library and those of the files and folders that are named") {
  const test::TempDir folder;
  test::write_file(folder / "own.cu", as_bytes(kTemplate));
  test::write_file(folder / "plain.cu", as_bytes("extern \"C\" __global__ void f() {}\n"));
  const auto files = posix_file_system();
  CHECK_FALSE(ok(load_catalog(*files, {})).find("own"));
  CHECK(ok(load_catalog(*files, {})).find("rms_norm"));
  CHECK(ok(load_catalog(*files, {(folder / "own.cu").string()})).find("own"));
  CHECK(ok(load_catalog(*files, {folder.path().string()})).find("own"));
}

TEST_CASE("catalogs of sources that cannot be read are a warning") {
  const test::TempDir folder;
  std::filesystem::create_symlink("home", folder / "home");  // no user can follow it
  std::vector<std::string> lines;
  const auto files = posix_file_system();
  CHECK(ok(load_catalog(*files, {}, (folder / "home").string(), [&](const LogRecord& record) {
          lines.emplace_back(record.message);
        })).find("rms_norm"));
  REQUIRE(lines.size() == 1);
  CHECK(lines.front().find("catalogs of sources are not read") != std::string::npos);
}

TEST_CASE("a file without a declaration and a folder without a template are invalid") {
  const test::TempDir folder;
  test::write_file(folder / "plain.cu", as_bytes("extern \"C\" __global__ void f() {}\n"));
  const auto files = posix_file_system();
  CHECK(load_catalog(*files, {(folder / "plain.cu").string()}).error().code == ErrorCode::invalid_argument);
  CHECK(load_catalog(*files, {folder.path().string()}).error().code == ErrorCode::invalid_argument);
  CHECK(load_catalog(*files, {(folder / "absent.cu").string()}).error().code == ErrorCode::not_found);
}

TEST_CASE("a parameter that a template does not have is invalid, and the nearest one is named") {
  const auto kernel_template = ok(ok(TemplateCatalog::builtin()).find("rms_norm"));
  CHECK(check_parameter_name(*kernel_template, "hidden_size"));
  const auto refused = check_parameter_name(*kernel_template, "hiden_size");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().remedy == "did you mean hidden_size?");
}

TEST_CASE(
    "a template is read with the base beside it, and its files are the source, the declaration and the "
    "base") {
  const test::TempDir folder;
  test::write_file(folder / "own.cu", as_bytes("extern \"C\" __global__ void own() {}\n"));
  test::write_file(folder / "own.cubinet.json",
                   as_bytes(R"({"name": "own", "interface": 1, "base": "shared.json",
                                "kernels": [{"name": "own", "threads": "width"}]})"));
  const auto files = posix_file_system();
  const std::string source = (folder / "own.cu").string();
  CHECK(load_catalog(*files, {source}).error().message.find("the base 'shared.json'") != std::string::npos);
  test::write_file(folder / "shared.json",
                   as_bytes(R"({"parameters": [{"name": "width", "type": "int", "default": 32}]})"));
  CHECK(ok(ok(load_catalog(*files, {source})).find("own"))->parameters().size() == 1);
  const auto paths = files_of_templates(*files, {source});
  for (const char* name : {"own.cu", "own.cubinet.json", "shared.json"})
    CHECK(std::find(paths.begin(), paths.end(), (folder / name).string()) != paths.end());
}
