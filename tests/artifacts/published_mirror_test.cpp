// SPDX-License-Identifier: Apache-2.0
#include "artifacts/published_folder.hpp"
#include "cubin_registry/forwarding_files.hpp"
#include "support/every_curl_call.hpp"
#include "support/fault_server.hpp"
#include "support/ok.hpp"
#include "support/text.hpp"

#include <cubinet/artifacts/published_mirror.hpp>
#include <cubinet/base/parallel.hpp>
#include <cubinet/distribution/file_server.hpp>

#include <regex>
#include <set>

using namespace cubinet;
using namespace cubinet::test;

namespace {

namespace fs = std::filesystem;

constexpr const char* kHeaderName = "include/flashInferMetaInfo.h";

std::shared_ptr<FileServer> files_from(const std::vector<std::string>& places,
                                       const std::vector<std::string>& plain_http = {},
                                       const std::string& libcurl = "libcurl.so.4") {
  std::vector<ServerReference> references;
  for (const std::string& place : places)
    references.push_back(ok(ServerReference::parse(place)));
  HttpSettings settings;
  settings.library = libcurl;
  settings.plain_http = plain_http;
  settings.attempts = 1;
  return ok(connect_files(references, std::make_shared<HttpClient>(settings), posix_file_system(), {}));
}

// Returns the names that a client finds through the links of a page, as FlashInfer scrapes them:
// folders, headers and cubins.
std::set<std::string> linked_names(const fs::path& folder, const std::string& prefix = {}) {
  std::set<std::string> names;
  const std::string page = read_file(folder / "index.html");
  const std::regex link("<a href=\"([^\"]+(\\.h|\\.cubin|/))\">");
  for (std::sregex_iterator found(page.begin(), page.end(), link), end; found != end; ++found) {
    const std::string name = (*found)[1];
    if (name == "../") continue;
    if (name.back() == '/')
      names.merge(linked_names(folder / name, prefix + name));
    else
      names.insert(prefix + name);
  }
  return names;
}

std::set<std::string> files_in(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) names.insert(entry.path().lexically_relative(folder).string());
  return names;
}

struct MirrorOfFolder {
  TempDir sandbox;
  PublishedFolder folder = sound_folder(sandbox / "source/c0ffee/fmha");
  std::shared_ptr<FileSystem> files = posix_file_system();
  PublishedMirrorOptions options = {};

  fs::path source() const { return sandbox / "source"; }
  fs::path mirror() const { return sandbox / "mirror"; }
  std::vector<PublishedList> lists() const { return ok(published_lists_of(*files, source())); }
  Result<PublishedMirrorReport> try_run(FileServer& from) const {
    return mirror_published(from, lists(), files, mirror(), options);
  }
  Result<PublishedMirrorReport> try_run() const { return try_run(*files_from({source().string()})); }
  MirroredFolder run() const {
    const auto report = ok(try_run());
    REQUIRE(report.folders.size() == 1);
    CHECK_FALSE(report.interrupted);
    return report.folders.front();
  }
  std::string cubin(std::size_t number) const { return folder_name + folder_kernel(number); }
  std::string folder_kernel(std::size_t number) const {
    return const_cast<PublishedFolder&>(folder).kernel(number).function + ".cubin";
  }
  std::string folder_name = "c0ffee/fmha/";

  // Checks that every file that a page names exists and is correct.
  void check_pages() const {
    const fs::path top = mirror() / folder_name;
    if (!fs::exists(top / "index.html")) return;
    CHECK(fs::exists(top / "checksums.txt"));
    for (const std::string& name : linked_names(top))
      CHECK(read_file(top / name) == read_file(source() / folder_name / name));
  }
};

}  // namespace

TEST_CASE_FIXTURE(MirrorOfFolder, "a published folder is mirrored whole, with pages that lead to all of it") {
  const MirroredFolder done = run();
  CHECK(done.listed == 7);
  CHECK(done.fetched == 7);
  CHECK(done.there == 0);
  CHECK(done.bytes == done.fetched_bytes);
  auto expected = files_in(source() / folder_name);
  auto names = files_in(mirror() / folder_name);
  for (const char* page : {"index.html", "include/index.html"})
    CHECK(names.erase(page) == 1);
  CHECK(names == expected);
  expected.erase("checksums.txt");
  CHECK(linked_names(mirror() / folder_name) == expected);
  check_pages();
}

TEST_CASE_FIXTURE(MirrorOfFolder, "many threads fetch each file once") {
  for (unsigned page = 512; page < 612; ++page)
    folder.add(published_kernel("100f", page));
  folder.write();
  options.run = [](const fs::path&, std::size_t count, const std::function<std::string(std::size_t)>& work) {
    parallel_for(count, 8, [&](std::size_t piece) { work(piece); });
  };
  flip_bit_at(folder / folder_kernel(50), 100);
  const MirroredFolder done = run();
  CHECK(done.fetched == 106);
  CHECK(done.damaged.count == 1);
  CHECK(linked_names(mirror() / folder_name).size() == 106);
  check_pages();
}

TEST_CASE_FIXTURE(MirrorOfFolder,
                  "a second run reads what is there, writes nothing, and heals what is damaged") {
  run();
  const auto time = fs::last_write_time(mirror() / folder_name / "index.html");
  MirroredFolder again = run();
  CHECK(again.there == 7);
  CHECK(again.fetched == 0);
  CHECK(fs::last_write_time(mirror() / folder_name / "index.html") == time);
  flip_bit_at(mirror() / cubin(2), 100);
  fs::remove(mirror() / cubin(3));
  fs::remove(mirror() / folder_name / "include/index.html");
  again = run();
  CHECK(again.there == 5);
  CHECK(again.fetched == 2);
  CHECK(fs::exists(mirror() / folder_name / "include/index.html"));
  check_pages();
}

TEST_CASE_FIXTURE(MirrorOfFolder,
                  "what runs on the host is left out and named, the list stays as it was pinned") {
  write_file(folder / "cute_dsl_fmha.so",
             "\x7f"
             "ELF");
  write_file(folder / "run.py", "import os");
  folder.write_list();
  fs::remove(folder / "cute_dsl_fmha.so");
  const MirroredFolder done = run();
  CHECK(done.left_out.count == 2);
  CHECK(done.left_out.first[0].name == "cute_dsl_fmha.so");
  CHECK(done.left_out.first[0].reason == "it runs on the host");
  CHECK(done.missing.count == 0);
  CHECK_FALSE(fs::exists(mirror() / folder_name / "run.py"));
  CHECK(read_file(mirror() / folder_name / "checksums.txt") == read_file(folder / "checksums.txt"));
}

TEST_CASE_FIXTURE(MirrorOfFolder, "only cubins for a target or of a function are asked for, and pages grow") {
  options.targets = {ok(SmTarget::parse("sm_103a"))};
  MirroredFolder done = run();
  CHECK(done.fetched == 3);
  CHECK(done.not_wanted == 4);
  CHECK(linked_names(mirror() / folder_name) ==
        std::set<std::string>{kHeaderName, folder_kernel(4), folder_kernel(5)});
  options.targets.clear();
  options.functions = {folder.kernel(0).function};
  done = run();
  CHECK(done.fetched == 1);
  CHECK(done.there == 3);
  CHECK(linked_names(mirror() / folder_name).size() == 4);
  options.targets = {ok(SmTarget::parse("sm_103a"))};
  flip_bit_at(mirror() / cubin(0), 100);
  CHECK(run().fetched == 1);  // an earlier run wanted it
  options = {};
  CHECK(run().fetched == 3);
  check_pages();
}

TEST_CASE_FIXTURE(MirrorOfFolder,
                  "a file of a GEMM folder is meant by its function, whose first letter is small") {
  write_file(folder / "Bmm_x.cubin", "x");
  write_file(folder / "Bmm_y.cubin", "y");
  folder.write_list();
  options.functions = {"bmm_x"};
  run();
  CHECK(fs::exists(mirror() / folder_name / "Bmm_x.cubin"));
  CHECK_FALSE(fs::exists(mirror() / folder_name / "Bmm_y.cubin"));
}

TEST_CASE_FIXTURE(MirrorOfFolder, "what the source lacks or has wrong is named, and no page leads to it") {
  flip_bit_at(folder / folder_kernel(0), 100);
  fs::remove(folder / folder_kernel(1));
  const MirroredFolder done = run();
  REQUIRE(done.damaged.count == 1);
  CHECK(done.damaged.first[0].name == folder_kernel(0));
  REQUIRE(done.missing.count == 1);
  CHECK(done.missing.first[0].name == folder_kernel(1));
  CHECK(linked_names(mirror() / folder_name).size() == 5);
  CHECK_FALSE(fs::exists(mirror() / cubin(0)));
  SUBCASE("it is removed where it is damaged in the mirror too") {
    write_file(mirror() / cubin(0), "damaged");
    CHECK(run().damaged.count == 1);
    CHECK_FALSE(fs::exists(mirror() / cubin(0)));
  }
}

TEST_CASE_FIXTURE(MirrorOfFolder, "a list of another digest than was named is used by nobody") {
  auto wrong = lists();
  wrong[0].digest.bytes[0] ^= std::byte{1};
  const auto from = files_from({source().string()});
  const auto result = mirror_published(*from, wrong, files, mirror(), options);
  REQUIRE_FALSE(result);
  CHECK(result.error().code == ErrorCode::corruption);
  CHECK_FALSE(fs::exists(mirror() / cubin(0)));
}

TEST_CASE_FIXTURE(MirrorOfFolder, "another list does not replace the one that a mirror has") {
  run();
  const std::string before = read_file(mirror() / folder_name / "checksums.txt");
  folder.add(published_kernel("100a", 512));
  folder.write();
  const auto result = try_run();
  REQUIRE_FALSE(result);
  CHECK(result.error().code == ErrorCode::invalid_argument);
  CHECK(read_file(mirror() / folder_name / "checksums.txt") == before);
  CHECK_FALSE(fs::exists(mirror() / cubin(6)));
}

TEST_CASE_FIXTURE(MirrorOfFolder, "a list that names what it may not ends before a file is asked for" *
                                      doctest::test_suite("loop")) {
  const std::string digest = sha256(as_bytes("x")).to_hex();
  for (const std::string& line :
       {digest + "  ../x.cubin", digest + "  /tmp/x.cubin", digest + "  a/./x.cubin", digest + "  .mirror.h",
        digest + "  a\rb.cubin", digest + "  index.html.h/../x.h", digest + "  a b.cubin",
        digest + "  " + std::string(100'000'000, 'x') + ".cubin",
        digest + "  x.cubin\n" + sha256(as_bytes("y")).to_hex() + "  x.cubin", std::string("no list at all"),
        digest + "  include/checksums.txt"}) {
    write_file(folder / "checksums.txt", line + "\n");
    const Sha256Digest list = sha256(as_bytes(line + "\n"));
    const auto result =
        mirror_published(*files_from({source().string()}), {{"c0ffee/fmha", list}}, files, mirror(), options);
    REQUIRE_FALSE(result);
    CHECK((result.error().code == ErrorCode::untrusted || result.error().code == ErrorCode::corruption));
    CHECK(result.error().message.size() < 1000);
    CHECK(files_in(mirror()).size() == 1);  // the lock
  }
}

TEST_CASE_FIXTURE(MirrorOfFolder, "a name that is twice in a list with one digest is one file") {
  write_file(folder / "checksums.txt",
             read_file(folder / "checksums.txt") + read_file(folder / "checksums.txt"));
  CHECK(run().fetched == 7);
}

TEST_CASE_FIXTURE(MirrorOfFolder, "wherever a run ends, pages lead to whole files and the next run goes on") {
  struct Dying final : ForwardingFiles {
    std::size_t left = 0;
    Error dead() const { return Error{ErrorCode::io, "killed"}; }
    bool step() { return left > 0 && --left > 0; }
    Result<std::unique_ptr<WritableFile>> create(const Path& path) override {
      if (!step()) return dead();
      return ForwardingFiles::create(path);
    }
    Result<void> rename(const Path& from, const Path& to) override {
      if (!step()) return dead();
      return ForwardingFiles::rename(from, to);
    }
    Result<void> sync_directory(const Path& path) override {
      if (!step()) return dead();
      return ForwardingFiles::sync_directory(path);
    }
    // A killed process removes nothing.
    Result<bool> remove(const Path& path) override {
      if (left == 0) return dead();
      return ForwardingFiles::remove(path);
    }
  };
  std::size_t ends = 0;
  for (std::size_t steps = 1;; ++steps) {
    fs::remove_all(mirror());
    auto dying = std::make_shared<Dying>();
    dying->left = steps;
    files = dying;
    const auto from = files_from({source().string()});
    const bool finished = mirror_published(*from, lists(), files, mirror(), options).has_value();
    check_pages();
    files = posix_file_system();
    if (finished) break;
    ++ends;
    run();
    check_pages();
    const auto left = files_in(mirror());
    CHECK(std::none_of(left.begin(), left.end(), [](const auto& name) { return name.ends_with(".tmp"); }));
    CHECK(left.size() == 11);  // cubins, header, list, two pages, the lock
  }
  CHECK(ends > 30);
}

TEST_CASE_FIXTURE(MirrorOfFolder, "a run that is cancelled says so, and the next goes on") {
  std::size_t asked = 0;
  options.cancelled = [&asked] { return ++asked > 4; };
  const auto report = ok(try_run());
  CHECK(report.interrupted);
  const std::uint64_t before = report.folders[0].fetched;
  CHECK(before > 0);
  CHECK_FALSE(fs::exists(mirror() / folder_name / "index.html"));
  options.cancelled = {};
  CHECK(run().there == before);
}

TEST_CASE_FIXTURE(MirrorOfFolder, "a mirror of a published folder survives a fault in any call of libcurl" *
                                      doctest::test_suite("loop")) {
  CurlFaults faults;
  const FaultServer server([&](const ReceivedRequest& request, std::size_t) {
    const fs::path file = source() / request.target.substr(1);
    return fs::exists(file) ? reply(200, read_file(file)) : reply(404);
  });
  for_every_curl_call(
      faults,
      [&] {
        const auto from = files_from({server.url("/")}, {server.authority()}, faults.library());
        const auto report = try_run(*from);
        return report && report->folders.at(0).damaged.count == 0;
      },
      [&](bool done) {
        check_pages();
        CHECK((!done || fs::exists(mirror() / folder_name / "index.html")));
        if (done) fs::remove_all(mirror());
      });
}

TEST_CASE_FIXTURE(MirrorOfFolder,
                  "over http a page with 200, a file that changes and a silent server do no harm") {
  // The list stays correct. The faults are a portal that answers every request, a file that is
  // replaced meanwhile, and silence.
  enum class Fault { page, changes, silence };
  for (const Fault fault : {Fault::page, Fault::changes, Fault::silence}) {
    CAPTURE(static_cast<int>(fault));
    fs::remove_all(mirror());
    FaultServer server([&](const ReceivedRequest& request, std::size_t) {
      const std::string name = request.target.substr(1);
      const bool faulty = name.ends_with(folder_kernel(2));
      if (!fs::exists(source() / name)) return reply(404);
      std::string body = read_file(source() / name);
      if (faulty && fault == Fault::page) return reply(200, "<html>Sign in</html>");
      if (faulty && fault == Fault::changes) body.replace(body.size() / 2, 1, "!");
      if (faulty && fault == Fault::silence) return reply(503);
      return reply(200, body);
    });
    const auto from = files_from({server.url("/")}, {server.authority()});
    const auto report = try_run(*from);
    if (fault == Fault::silence) {
      REQUIRE_FALSE(report);
      CHECK(report.error().code == ErrorCode::unavailable);
    } else {
      CHECK(ok(report).folders[0].damaged.count == 1);
    }
    CHECK_FALSE(fs::exists(mirror() / cubin(2)));
    check_pages();
    const std::size_t before = server.requests().size();
    const auto both = files_from({server.url("/"), source().string()}, {server.authority()});
    CHECK(ok(try_run(*both)).folders[0].damaged.count == 0);
    check_pages();
    CHECK(server.requests().size() - before < 7);  // complete files were not requested again
  }
}

TEST_CASE("lists are named by a file as sha256sum writes it") {
  const Sha256Digest one = sha256(as_bytes("1")), two = sha256(as_bytes("2"));
  const auto lists =
      ok(read_published_lists(one.to_hex() + "  a/b/checksums.txt\n" + two.to_hex() + " *checksums.txt\n"));
  CHECK(lists == std::vector<PublishedList>{{"a/b", one}, {"", two}});
  CHECK(read_published_lists(one.to_hex() + "  a/b.txt\n").error().code == ErrorCode::corruption);
  CHECK(read_published_lists(one.to_hex() + "  ../checksums.txt\n").error().code == ErrorCode::untrusted);
}

TEST_CASE_FIXTURE(MirrorOfFolder,
                  "folders within folders, and folders without a list, are mirrored by nobody") {
  const auto from = files_from({source().string()});
  const Sha256Digest digest = lists()[0].digest;
  for (const std::vector<PublishedList>& nested : {std::vector<PublishedList>{{"a", digest}, {"a/b", digest}},
                                                   {{"", digest}, {"a", digest}},
                                                   {{"a", digest}, {"a", digest}}}) {
    const auto result = mirror_published(*from, nested, files, mirror(), options);
    REQUIRE_FALSE(result);
    CHECK(result.error().code == ErrorCode::invalid_argument);
  }
  CHECK(mirror_published(*from, {{"../a", digest}}, files, mirror(), options).error().code ==
        ErrorCode::untrusted);
  const auto absent = ok(mirror_published(*from, {{"absent", digest}}, files, mirror(), options));
  CHECK(absent.folders[0].missing.count == 1);
  fs::remove(folder / "checksums.txt");
  CHECK(published_lists_of(*files, source()).error().code == ErrorCode::invalid_argument);
}
