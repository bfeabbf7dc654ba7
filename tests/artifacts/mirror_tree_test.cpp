// SPDX-License-Identifier: Apache-2.0
#include "mirror_tree.hpp"

#include "artifacts/published_folder.hpp"
#include "cubin_registry/forwarding_files.hpp"
#include "support/ok.hpp"
#include "support/text.hpp"

#include <atomic>
#include <cerrno>
#include <thread>

using namespace cubinet;
using namespace cubinet::test;

namespace {

namespace fs = std::filesystem;

struct MadeTree {
  TempDir folder;
  fs::path root = folder / "mirror";

  MirrorTree open() const { return ok(MirrorTree::open(posix_file_system(), root, {}, {})); }
};

}  // namespace

TEST_CASE("names that links write otherwise, hidden ones, and those of the mirror itself are refused") {
  for (const char* name : {"a.cubin", "include/a_b-C.0+d,e=@~.h", "kernel.fp8.007404769193.cubin"})
    CHECK(why_not_mirrored(name).empty());
  const std::string newline = "a\nb.cubin", quote = "a\".cubin", high = "\xC3\xA4.cubin";
  for (const std::string& name : {std::string(),
                                  std::string("/a"),
                                  std::string("a/../b"),
                                  std::string("a//b"),
                                  std::string("./a"),
                                  std::string("a b"),
                                  std::string("a%2e"),
                                  std::string("a?b"),
                                  std::string("a#b"),
                                  std::string("a\\b"),
                                  std::string("a<b"),
                                  std::string("a&b"),
                                  std::string("a:b"),
                                  newline,
                                  quote,
                                  high,
                                  std::string(".a"),
                                  std::string("a/.b"),
                                  std::string("a/..."),
                                  std::string(".mirror.lock"),
                                  std::string("index.html"),
                                  std::string("a/index.html"),
                                  std::string("checksums.txt"),
                                  std::string(5000, 'a')}) {
    CAPTURE(name);
    CHECK_FALSE(why_not_mirrored(name).empty());
  }
}

TEST_CASE_FIXTURE(MadeTree, "a file is whole, and a link in its place is replaced and not followed") {
  const MirrorTree tree = open();
  ok(tree.make_folder("a/b"));
  write_file(folder / "elsewhere", "old");
  fs::create_symlink(folder / "elsewhere", root / "a/b/c.h");
  CHECK_FALSE(ok(tree.read("a/b/c.h", 100)));
  ok(tree.write("a/b/c.h", as_bytes("new")));
  CHECK(read_file(folder / "elsewhere") == "old");
  CHECK_FALSE(fs::is_symlink(root / "a/b/c.h"));
  CHECK(as_text(*ok(tree.read("a/b/c.h", 3))) == "new");
  CHECK_FALSE(ok(tree.read("a/b/c.h", 2)));
  CHECK_FALSE(ok(tree.read("a/b", 100)));
  ok(tree.remove("a/b/c.h"));
  CHECK_FALSE(fs::exists(root / "a/b/c.h"));
}

TEST_CASE_FIXTURE(MadeTree, "a folder that is a link or a file is written into by nobody") {
  const MirrorTree tree = open();
  fs::create_directory(folder / "elsewhere");
  fs::create_directory_symlink(folder / "elsewhere", root / "a");
  write_file(root / "b", "");
  for (const char* name : {"a", "a/c", "b", "b/c"}) {
    CAPTURE(name);
    const auto made = tree.make_folder(name);
    REQUIRE_FALSE(made);
    CHECK((made.error().code == ErrorCode::untrusted || made.error().code == ErrorCode::io));
  }
  CHECK(fs::is_empty(folder / "elsewhere"));
}

TEST_CASE_FIXTURE(MadeTree,
                  "a link that is put in the place of a folder or of the mirror later is not followed") {
  const MirrorTree tree = open();
  ok(tree.make_folder("a/b"));
  fs::create_directory(folder / "elsewhere");
  write_file(folder / "elsewhere/c.h", "old");
  fs::remove_all(root / "a");
  fs::create_directory_symlink(folder.path(), root / "a");
  fs::create_directory_symlink(folder / "elsewhere", folder / "b");
  for (const auto& changed : {tree.write("a/b/c.h", as_bytes("new")), tree.remove("a/b/c.h"),
                              tree.write_index("a/b", {}), tree.make_folder("a/b/d")}) {
    REQUIRE_FALSE(changed);
    CHECK(changed.error().code == ErrorCode::untrusted);
  }
  fs::rename(root, folder / "moved");
  fs::create_directory_symlink(folder / "elsewhere", root);
  ok(tree.write("c.h", as_bytes("new")));
  CHECK(read_file(folder / "moved/c.h") == "new");
  CHECK(read_file(folder / "elsewhere/c.h") == "old");
  CHECK(std::distance(fs::directory_iterator(folder / "elsewhere"), fs::directory_iterator()) == 1);
}

TEST_CASE_FIXTURE(MadeTree, "what a killed process left unfinished is swept, and nothing else") {
  const MirrorTree tree = open();
  ok(tree.make_folder("a"));
  for (const char* name : {"a/.x.cubin.12.3.4.tmp", "a/x.cubin", "a/.x.tmp"})
    write_file(root / name, "");
  ok(tree.make_folder("a"));
  CHECK_FALSE(fs::exists(root / "a/.x.cubin.12.3.4.tmp"));
  CHECK(fs::exists(root / "a/x.cubin"));
  CHECK(fs::exists(root / "a/.x.tmp"));
}

TEST_CASE_FIXTURE(MadeTree, "a page has a link a line, and stays where it says the same") {
  const MirrorTree tree = open();
  ok(tree.make_folder("a"));
  ok(tree.write_index("a", {"b.cubin", "include/"}));
  const std::string page = read_file(root / "a/index.html");
  CHECK(contains(page, "\n<a href=\"b.cubin\">b.cubin</a>"));
  CHECK(contains(page, "\n<a href=\"include/\">include/</a>"));
  const auto time = fs::last_write_time(root / "a/index.html") - std::chrono::hours(1);
  fs::last_write_time(root / "a/index.html", time);
  ok(tree.write_index("a", {"b.cubin", "include/"}));
  CHECK(fs::last_write_time(root / "a/index.html") == time);
  ok(tree.write_index("a", {"c.cubin"}));
  CHECK_FALSE(contains(read_file(root / "a/index.html"), "b.cubin"));
}

TEST_CASE_FIXTURE(MadeTree, "one writes at a time, the next waits for it or is told to stop") {
  std::optional<MirrorTree> first(open());
  std::atomic<int> warnings = 0;
  const auto stopped = MirrorTree::open(
      posix_file_system(), root, [] { return true; }, [&](const LogRecord&) { ++warnings; });
  REQUIRE_FALSE(stopped);
  CHECK(stopped.error().code == ErrorCode::unavailable);
  CHECK(warnings == 1);
  std::atomic<bool> released = false;
  std::thread second([&] {
    const MirrorTree tree = open();
    CHECK(released);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(120));
  released = true;
  first.reset();
  second.join();
}

TEST_CASE_FIXTURE(MadeTree, "a lock that nobody gives up is waited for no longer than was said") {
  const MirrorTree holder = open();
  const auto begin = std::chrono::steady_clock::now();
  const auto refused = MirrorTree::open(posix_file_system(), root, {}, {}, std::chrono::milliseconds(200));
  const auto waited = std::chrono::steady_clock::now() - begin;
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::busy);
  CHECK(waited >= std::chrono::milliseconds(200));
  CHECK(waited < std::chrono::seconds(30));
}

TEST_CASE_FIXTURE(MadeTree, "where there are no locks it is written all the same, and nothing is swept") {
  struct WithoutLocks final : ForwardingFiles {
    Result<std::unique_ptr<FileLock>> lock(const Path&, Sharing) override {
      return io_error("cannot lock", answer);
    }
    int answer = ENOLCK;
  };
  const auto files = std::make_shared<WithoutLocks>();
  for (const int answer : {EOPNOTSUPP, ENOSYS}) {
    files->answer = answer;
    CHECK(MirrorTree::open(files, root, {}, {}));
  }
  files->answer = EACCES;
  CHECK_FALSE(MirrorTree::open(files, root, {}, {}));
  files->answer = ENOLCK;
  const MirrorTree tree = ok(MirrorTree::open(files, root, {}, {}));
  ok(tree.make_folder("a"));
  write_file(root / "a/.x.cubin.12.3.4.tmp", "");
  ok(tree.make_folder("a"));
  CHECK(fs::exists(root / "a/.x.cubin.12.3.4.tmp"));
  ok(tree.write("a/x.cubin", as_bytes("x")));
  CHECK(read_file(root / "a/x.cubin") == "x");
}
