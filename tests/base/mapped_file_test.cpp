// SPDX-License-Identifier: Apache-2.0
#include "support/temp_dir.hpp"

#include <cubinet/base/mapped_file.hpp>

#include <doctest/doctest.h>

#include <fstream>
#include <utility>

using namespace cubinet;

TEST_CASE("a mapped file shows the content and keeps it after a move") {
  const test::TempDir folder;
  std::ofstream(folder / "file") << "content";
  auto file = MappedFile::open(folder / "file");
  REQUIRE(file);
  MappedFile moved = *std::move(file);
  CHECK(as_text(moved.content()) == "content");
  std::ofstream(folder / "other") << "other";
  moved = *MappedFile::open(folder / "other");
  CHECK(as_text(moved.content()) == "other");
}

TEST_CASE("an empty file is an empty view, a missing one and a folder are errors of their own") {
  const test::TempDir folder;
  std::ofstream(folder / "empty").flush();
  const auto empty = MappedFile::open(folder / "empty");
  REQUIRE(empty);
  CHECK(empty->content().empty());
  CHECK(MappedFile::open(folder / "absent").error().code == ErrorCode::not_found);
  CHECK(MappedFile::open(folder.path()).error().code == ErrorCode::io);
}
