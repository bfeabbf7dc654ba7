// SPDX-License-Identifier: Apache-2.0
#include "include_closure.hpp"

#include "jit/test_templates.hpp"
#include "support/temp_dir.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>

using namespace cubinet;
namespace fs = std::filesystem;

namespace {

void write(const fs::path& path, std::string_view text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::trunc) << text;
}

IncludeClosure closure_of(const std::string& body, const std::vector<std::string>& directories = {}) {
  auto closure = close_over_includes(*test::parse_template(test::scale_source(body)), directories);
  REQUIRE_MESSAGE(closure, closure.error().message);
  return *closure;
}

bool reaches(const IncludeClosure& closure, std::string_view name) {
  return std::find(closure.embedded.begin(), closure.embedded.end(), name) != closure.embedded.end();
}

}  // namespace

TEST_CASE("embedded headers are followed through each other") {
  const IncludeClosure closure =
      closure_of("#include <cubinet/parameters.cuh>\n#include <cubinet/mma.cuh>\n");
  CHECK(reaches(closure, "cubinet/mma.cuh"));
  CHECK(reaches(closure, "cubinet/types.cuh"));
  CHECK_FALSE(reaches(closure, "cubinet/pdl.cuh"));
  CHECK(closure.stamps.empty());
  CHECK(closure.still_valid());
}

TEST_CASE("another source or another header is another closure") {
  const auto digest = [](const std::string& body) { return closure_of(body).digest; };
  CHECK(digest("#include <cubinet/pdl.cuh>\n") == digest("#include <cubinet/pdl.cuh>\n"));
  CHECK(digest("#include <cubinet/pdl.cuh>\n") != digest("#include <cubinet/pdl.cuh>\n "));
  CHECK(digest("#include <cubinet/pdl.cuh>\n") != digest("#include <cubinet/mma.cuh>\n"));
}

TEST_CASE("headers of include directories count by content and not by place") {
  const test::TempDir first;
  const test::TempDir second;
  for (const test::TempDir* place : {&first, &second}) {
    write(*place / "lib/a.h", "#include \"b.h\"\n#include <lib/c.h>\n");
    write(*place / "lib/b.h", "int b;\n");
    write(*place / "lib/c.h", "int c;\n#include \"a.h\"\n");
  }
  const std::string body = "#include <lib/a.h>\n";
  const auto digest = [&](const test::TempDir& place) { return closure_of(body, {place.path()}).digest; };
  const Sha256Digest before = digest(first);
  CHECK(before == digest(second));
  for (const char* name : {"lib/a.h", "lib/b.h", "lib/c.h"}) {
    std::ofstream(second / name, std::ios::app) << "// changed\n";
    CHECK_MESSAGE(digest(second) != before, name);
    fs::copy_file(first / name, second / name, fs::copy_options::overwrite_existing);
    CHECK(digest(second) == before);
  }
}

TEST_CASE("a closure is valid until a file changes, vanishes or appears where one was looked for") {
  const test::TempDir early;
  const test::TempDir late;
  write(late / "a.h", "int a;\n");
  const std::string body = "#include <a.h>\n#include <missing.h>\n";
  const std::vector<std::string> directories = {early.path(), late.path()};
  IncludeClosure closure = closure_of(body, directories);
  CHECK(closure.still_valid());
  write(early / "a.h", "int a;\n");
  CHECK_FALSE(closure.still_valid());
  const IncludeClosure shadowed = closure_of(body, directories);
  CHECK(shadowed.digest != closure.digest);
  fs::remove(early / "a.h");
  CHECK(closure.still_valid());
  write(late / "missing.h", "int m;\n");
  CHECK_FALSE(closure.still_valid());
  CHECK(closure_of(body, directories).digest != closure.digest);
  fs::remove(late / "missing.h");
  write(late / "a.h", "int b;\n");
  CHECK_FALSE(closure.still_valid());
  fs::remove(late / "a.h");
  CHECK_FALSE(closure.still_valid());
}

TEST_CASE("a stamp is settled once a later edit has to show in its times") {
  constexpr std::int64_t kSecond = 1'000'000'000;
  constexpr std::int64_t kMillisecond = 1'000'000;
  FileStamp stamp;
  CHECK(stamp.settled(0));  // no file: one that appears shows
  stamp.exists = true;
  stamp.changed_ns = 1000 * kSecond + 1;
  CHECK_FALSE(stamp.settled(stamp.changed_ns));
  CHECK_FALSE(stamp.settled(stamp.changed_ns + 10 * kMillisecond));
  CHECK(stamp.settled(stamp.changed_ns + 51 * kMillisecond));
  stamp.modified_ns = stamp.changed_ns + 10 * kSecond;  // set by somebody
  CHECK_FALSE(stamp.settled(stamp.changed_ns + 51 * kMillisecond));
  CHECK(stamp.settled(stamp.modified_ns + 51 * kMillisecond));
  // Whole seconds may be all that the file system keeps.
  stamp.modified_ns = 1000 * kSecond;
  stamp.changed_ns = 1000 * kSecond;
  CHECK_FALSE(stamp.settled(1001 * kSecond));
  CHECK(stamp.settled(1003 * kSecond));
}

TEST_CASE("the same name on another file system is another file") {
  const test::TempDir folder;
  write(folder / "a.h", "int a;\n");
  const FileStamp stamp = FileStamp::take(folder / "a.h");
  FileStamp other = stamp;
  ++other.device;
  CHECK(stamp.device != 0);
  CHECK(other != stamp);
}

TEST_CASE("the order of the directories matters") {
  const test::TempDir first;
  const test::TempDir second;
  write(first / "a.h", "int a = 1;\n");
  write(second / "a.h", "int a = 2;\n");
  CHECK(closure_of("#include <a.h>\n", {first.path(), second.path()}).digest !=
        closure_of("#include <a.h>\n", {second.path(), first.path()}).digest);
}

TEST_CASE("a file named by its absolute path is part of it") {
  const test::TempDir folder;
  write(folder / "a.h", "int a;\n");
  const std::string body = "#include \"" + (folder / "a.h").string() + "\"\n";
  const IncludeClosure closure = closure_of(body);
  REQUIRE(closure.stamps.size() == 1);
  CHECK(closure.stamps[0].exists);
  write(folder / "a.h", "int b;\n");
  CHECK(closure_of(body).digest != closure.digest);
}

TEST_CASE("a source that includes or asks for what a macro names is refused") {
  for (const auto& [body, told] : std::vector<std::pair<std::string, std::string>>{
           {"#define X <a.h>\n#include X\n", "'#include X'"},
           {"#define X <a.h>\n#if __has_include(X)\n#endif\n", "'__has_include(X)'"},
           {"#define HI __has_include\n#if HI(<a.h>)\n#endif\n", "'__has_include'"}}) {
    const auto closure = close_over_includes(*test::parse_template(test::scale_source(body)), {});
    REQUIRE_FALSE(closure);
    CHECK(closure.error().code == ErrorCode::invalid_argument);
    CHECK_MESSAGE(closure.error().message.find(told) != std::string::npos, closure.error().message);
  }
}

TEST_CASE("a source that speaks of includes in a comment or a literal is not refused") {
  for (const char* body :
       {"// the #include order matters\n", "// see issue #import taxes\n",
        "__device__ const char* s = \"#include me\";\n", "#ifdef __has_include\n#endif\n"}) {
    CHECK_MESSAGE(close_over_includes(*test::parse_template(test::scale_source(body)), {}), body);
  }
}

TEST_CASE("in a header what a macro names counts as text alone") {
  const test::TempDir folder;
  write(folder / "a.h", "#define W <opt.h>\n#if __has_include(W)\n#endif\n");
  const IncludeClosure closure = closure_of("#include <a.h>\n", {folder.path()});
  write(folder / "opt.h", "\n");
  CHECK(closure_of("#include <a.h>\n", {folder.path()}).digest == closure.digest);
}
