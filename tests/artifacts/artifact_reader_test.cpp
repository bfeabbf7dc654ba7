// SPDX-License-Identifier: Apache-2.0
#include "artifact_reader.hpp"

#include "artifacts/published_folder.hpp"

#include <cubinet/spec/cubin.hpp>

#include <doctest/doctest.h>

#include <sys/stat.h>
#include <unistd.h>

using namespace cubinet;
using namespace cubinet::test;

TEST_CASE("files of any length are read one after the other, with the facts that they are known by") {
  const TempDir folder;
  ArtifactReader reader;
  for (const std::size_t size : {100'000U, 0U, 7U, 300'000U}) {
    const std::string content(size, static_cast<char>(size));
    write_file(folder / "file", content);
    const auto read = reader.read(folder / "file");
    REQUIRE(read);
    CHECK(as_text(read->bytes) == content);
    CHECK(read->facts.size == size);
    CHECK(*file_facts(folder / "file") == read->facts);
  }
}

TEST_CASE("a file is settled once the clock of file times has moved on") {
  const TempDir folder;
  write_file(folder / "file", "one");
  ArtifactReader reader;
  CHECK_FALSE(reader.read(folder / "file")->settled);
  let_files_settle();
  const FileFacts facts = reader.read(folder / "file")->facts;
  CHECK(reader.read(folder / "file")->settled);
  write_file(folder / "file", "two");
  CHECK_FALSE(*file_facts(folder / "file") == facts);
}

TEST_CASE("a file of more than an image may have is not read, however little of it is there") {
  const TempDir folder;
  write_file(folder / "sparse", "tiny");
  std::filesystem::resize_file(folder / "sparse", kMaximumImageBytes + 1);
  ArtifactReader reader;
  CHECK(reader.read(folder / "sparse").error().code == ErrorCode::io);
}

TEST_CASE("what is no readable regular file is an error and hangs nobody") {
  const TempDir folder;
  ArtifactReader reader;
  REQUIRE(::mkfifo((folder / "fifo").c_str(), 0600) == 0);
  CHECK(reader.read(folder / "fifo").error().code == ErrorCode::invalid_argument);
  CHECK(file_facts(folder / "fifo").error().code == ErrorCode::invalid_argument);
  CHECK(reader.read(folder.path()).error().code == ErrorCode::invalid_argument);
  CHECK(reader.read(folder / "none").error().code == ErrorCode::not_found);
  CHECK(file_facts(folder / "none").error().code == ErrorCode::not_found);
  std::filesystem::create_symlink("self", folder / "self");
  CHECK(reader.read(folder / "self").error().code == ErrorCode::io);
  write_file(folder / "vast", "x");
  REQUIRE(::truncate((folder / "vast").c_str(), off_t{1} << 40) == 0);
  CHECK(reader.read(folder / "vast").error().code == ErrorCode::io);
}
