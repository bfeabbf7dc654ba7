// SPDX-License-Identifier: Apache-2.0
#include "local/local_journal.hpp"

#include "cubin_registry/forwarding_files.hpp"
#include "cubin_registry/home_fixture.hpp"
#include "support/ok.hpp"

#include <cerrno>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace cubinet::test {
namespace {

using std::chrono::milliseconds;

JournalLine line_at(std::int64_t ms, std::string text) {
  return {std::chrono::sys_time<milliseconds>(milliseconds(ms)), std::move(text)};
}

struct FullDisk : ForwardingFiles {
  bool full = false;
  Result<void> append(const Path& path, ByteView bytes) override {
    if (!full) return ForwardingFiles::append(path, bytes);
    static_cast<void>(ForwardingFiles::append(path, bytes.first(bytes.size() / 2)));
    return io_error("write", ENOSPC);
  }
};

void append_to(const std::filesystem::path& file, std::string_view bytes) {
  std::ofstream(file, std::ios::binary | std::ios::app) << bytes;
}

}  // namespace

TEST_CASE("the bytes of a line of the journal are those that the format says") {
  CHECK(encode_journal_line(line_at(1795748400123, "{}")) == "\n1 c7b890df009df54c 1795748400123 {}\n");
}

TEST_CASE("lines of a journal read as they were written, sorted, and a torn or damaged one costs no other") {
  const std::string whole =
      encode_journal_line(line_at(2000, "second")) + encode_journal_line(line_at(1000, "first"));
  const JournalLines read = decode_journal(whole);
  REQUIRE(read.lines.size() == 2);
  CHECK(read.lines[0].text == "first");
  CHECK(read.lines[1].time.time_since_epoch() == milliseconds(2000));
  CHECK(read.damaged + read.newer == 0);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    CHECK(decode_journal(damaged).lines.size() >= 1);
    const JournalLines torn = decode_journal(whole.substr(0, at) + whole);
    CHECK(torn.lines.size() >= 2);
    CHECK(torn.damaged <= 1);
  }
}

TEST_CASE("lines of a later version are counted and left out") {
  std::string newer = encode_journal_line(line_at(1000, "{}"));
  newer[1] = '2';
  const JournalLines read = decode_journal(newer + encode_journal_line(line_at(2000, "kept")));
  CHECK(read.newer == 1);
  CHECK(read.damaged == 0);
  REQUIRE(read.lines.size() == 1);
  CHECK(read.lines[0].text == "kept");
}

TEST_CASE_FIXTURE(HomeFixture, "a home keeps its journal, and one that is only read takes no line") {
  const auto registry = open();
  CHECK(ok(registry->journal().read()).lines.empty());
  ok(registry->journal().add("{\"a\": 1}"));
  ok(registry->journal().add("{\"a\": 2}"));
  const auto reader = open(HomeOptions::Access::read_only);
  const JournalLines lines = ok(reader->journal().read());
  REQUIRE(lines.lines.size() == 2);
  CHECK(lines.lines[1].text == "{\"a\": 2}");
  const auto refused = reader->journal().add("{}");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::unavailable);
  CHECK_FALSE(registry->journal().add("two\nlines"));
  CHECK_FALSE(registry->journal().add(std::string(HomeJournal::kMaximumLineBytes + 1, 'x')));
}

TEST_CASE_FIXTURE(HomeFixture, "a full disk costs the line that does not fit and no other") {
  const auto files = std::make_shared<FullDisk>();
  HomeOptions full = options();
  full.files = files;
  const auto registry = ok(Home::open(full));
  ok(registry->journal().add("before"));
  files->full = true;
  const auto failed = registry->journal().add("lost");
  REQUIRE_FALSE(failed);
  CHECK(failed.error().native == ENOSPC);
  files->full = false;
  ok(registry->journal().add("after"));
  const JournalLines lines = ok(registry->journal().read());
  REQUIRE(lines.lines.size() == 2);
  CHECK(lines.lines[1].text == "after");
  CHECK(lines.damaged == 1);
}

TEST_CASE_FIXTURE(HomeFixture,
                  "a long journal loses its oldest lines, and a sweep drops old and damaged ones") {
  const auto registry = open();
  const std::string text(20'000, 'x');
  for (int i = 0; i < 70; ++i)
    ok(registry->journal().add(std::to_string(i) + text));
  const JournalLines lines = ok(registry->journal().read());
  CHECK(lines.lines.size() < 60);
  CHECK(lines.lines.back().text.starts_with("69"));
  CHECK(std::filesystem::file_size(home / "journal") <= HomeJournal::kMaximumBytes);
  append_to(home / "journal", encode_journal_line(line_at(1000, "of 1970")) + "damaged");
  ok(registry->sweep());
  const JournalLines swept = ok(registry->journal().read());
  CHECK(swept.lines.size() == lines.lines.size());
  CHECK(swept.damaged == 0);
}

TEST_CASE_FIXTURE(HomeFixture, "a sweep keeps lines of a later version as they are") {
  const auto registry = open();
  std::string newer = encode_journal_line(line_at(1000, "{}"));
  newer[1] = '2';
  append_to(home / "journal", newer + encode_journal_line(line_at(1000, "of 1970")));
  ok(registry->sweep());
  const JournalLines swept = ok(registry->journal().read());
  CHECK(swept.newer == 1);
  CHECK(swept.lines.empty());
}

TEST_CASE_FIXTURE(HomeFixture, "a sweep keeps a journal that cannot be read") {
  const auto registry = open();
  std::filesystem::create_symlink(home / "elsewhere", home / "journal");
  append_to(home / "elsewhere", "something");
  CHECK_FALSE(registry->journal().read());
  ok(registry->sweep());
  CHECK(std::filesystem::is_symlink(home / "journal"));
}

TEST_CASE("a time beyond the year 9999 is damage") {
  for (const std::int64_t ms : {std::int64_t{-1}, std::int64_t{253402300800000}, INT64_MAX, INT64_MIN})
    CHECK(decode_journal(encode_journal_line(line_at(ms, "{}"))).damaged == 1);
  CHECK(decode_journal(encode_journal_line(line_at(253402300799999, "{}"))).lines.size() == 1);
}

TEST_CASE_FIXTURE(HomeFixture, "a journal that another program has filled is dropped") {
  const auto registry = open();
  ok(registry->journal().add("before"));
  std::ofstream(home / "journal", std::ios::binary | std::ios::app) << std::string(20U << 20U, '\n');
  CHECK_FALSE(registry->journal().read());
  ok(registry->journal().add("after"));
  CHECK(std::filesystem::file_size(home / "journal") <= HomeJournal::kMaximumBytes);
  ok(registry->journal().read());
}

TEST_CASE_FIXTURE(HomeFixture, "processes and threads that note at once lose no line while it stays short") {
  constexpr int kProcesses = 4, kLines = 20;
  open();
  std::vector<pid_t> children;
  for (int process = 0; process < kProcesses; ++process) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      const auto registry = Home::open(options());
      bool good = registry.has_value();
      for (int i = 0; good && i < kLines; ++i)
        good = (*registry)->journal().add(std::to_string(process) + std::string(1000, 'x')).has_value();
      ::_exit(good ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    CHECK(status == 0);
  }
  const JournalLines lines = ok(open()->journal().read());
  CHECK(lines.lines.size() == kProcesses * kLines);
  CHECK(lines.damaged == 0);
}

}  // namespace cubinet::test
