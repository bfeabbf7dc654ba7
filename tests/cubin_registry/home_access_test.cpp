// SPDX-License-Identifier: Apache-2.0
#include "local/home_access.hpp"

#include "cubin_registry/fault_injection.hpp"
#include "cubin_registry/home_fixture.hpp"
#include "support/skip.hpp"

namespace cubinet::test {
namespace {

TEST_CASE("a home that cannot be written, and a forked process, get an error with the reason") {
  HomeFixture fixture;
  FileStore store(posix_file_system(), HomeLayout(fixture.open()->description().place), fixture.log.sink());
  const HomeAccess writable(store, true);
  const HomeAccess read_only(store, false);
  const HomeAccess refused(store, false, "the home '/h' cannot be written: Read-only file system");
  CHECK(writable.check_writable());
  CHECK(read_only.check_process());
  CHECK(read_only.check_writable().error().code == ErrorCode::unavailable);
  CHECK(read_only.check_writable().error().message.find(fixture.home.string()) != std::string::npos);
  CHECK(refused.check_writable().error().message == "the home '/h' cannot be written: Read-only file system");
  CHECK(refused.check_writable().error().remedy.find("`HomeOptions::path`") != std::string::npos);
  if (!can_fork()) return skip("forks");
  const int status = in_child([&] {
    const auto checked = writable.check_writable();
    return !checked && checked.error().code == ErrorCode::unavailable ? 0 : 1;
  });
  CHECK(status == 0);
}

}  // namespace
}  // namespace cubinet::test
