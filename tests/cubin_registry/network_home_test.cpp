// SPDX-License-Identifier: Apache-2.0
// Tests a home on a network file system: detected by the file system's number, and on a real FUSE
// mount.
#include "cubin_registry/fault_injection.hpp"
#include "cubin_registry/forwarding_files.hpp"
#include "cubin_registry/home_fixture.hpp"
#include "support/ok.hpp"
#include "support/skip.hpp"

#include <cstdlib>

namespace cubinet::test {
namespace {

namespace fs = std::filesystem;

// A file system on which paths below `network` are on NFS, without locks if requested.
struct NetworkFiles : ForwardingFiles {
  Path network;
  bool locks = true;
  FileSystemKind kind(const Path& path) override {
    if (path.native().starts_with(network.native())) return file_system_kind(0x6969);
    return ForwardingFiles::kind(path);
  }
  Result<std::unique_ptr<FileLock>> lock(const Path& path, Sharing sharing) override {
    if (!locks) return io_error("lock", ENOLCK);
    return ForwardingFiles::lock(path, sharing);
  }
};

struct NetworkHome : HomeFixture {
  std::shared_ptr<NetworkFiles> files = std::make_shared<NetworkFiles>();
  NetworkHome() { files->network = home; }
  std::shared_ptr<Home> open_there(const fs::path& index_folder,
                                   HomeOptions::Access access = HomeOptions::Access::read_write) {
    HomeOptions there = options(access);
    there.files = files;
    there.index_folder = index_folder.native();
    auto registry = Home::open(there);
    REQUIRE_MESSAGE(registry.has_value(), why_not(registry));
    return *std::move(registry);
  }
};

TEST_CASE("a home on a network file system has no index there, and answers as any other does") {
  NetworkHome home;
  for (const bool locks : {true, false}) {
    home.files->locks = locks;
    const auto registry = home.open_there("");
    for (int number = 1; number <= 3; ++number)
      REQUIRE(publishes(*registry, cubin_of(number)));
    CHECK(home.open_there("")->list()->size() == 3);
    CHECK(serves(*registry, cubin_of(2)));
    CHECK(registry->verify()->findings.empty());
    CHECK(registry->repair()->entries == 3);
    CHECK(registry->sweep());
    CHECK(registry->stats()->journal_mode.find("NFS") != std::string::npos);
    CHECK_FALSE(fs::exists(home.home / "index.sqlite"));
    CHECK(home.log.count("error") == 0);
    CHECK(home.log.count("the index is not used") == 0);
  }
  CHECK(home.open_there("", HomeOptions::Access::read_only)->list()->size() == 3);
}

TEST_CASE("a node has an index of its own of such a home, which may be damaged or lost") {
  NetworkHome home;
  const fs::path node = home.folder / "node";
  REQUIRE(publishes(*home.open_there(node), cubin_of(1)));
  CHECK_FALSE(fs::exists(home.home / "index.sqlite"));
  fs::path index;
  for (const auto& entry : fs::recursive_directory_iterator(node)) {
    if (entry.path().filename() == "index.sqlite") index = entry.path();
  }
  REQUIRE_FALSE(index.empty());
  CHECK(home.open_there(node)->stats()->journal_mode == "delete");
  // Another node publishes. This node reads the entries that its index lacks.
  REQUIRE(publishes(*home.open_there(home.folder / "other node"), cubin_of(2)));
  CHECK(home.open_there(node)->list()->size() == 2);
  write_file(index, Bytes(8192, std::byte{0x55}));
  CHECK(home.open_there(node)->list()->size() == 2);
  CHECK(home.set_aside() == 0);  // the file was a copy
  CHECK(home.open_there(node)->stats()->journal_mode == "delete");
  CHECK(home.open_there(node)->verify()->findings.empty());
  fs::remove_all(node);
  CHECK(home.open_there(node)->list()->size() == 2);
}

TEST_CASE("an index is neither kept on a network file system nor where others could write it") {
  NetworkHome home;
  REQUIRE(publishes(*home.open_there(home.home / "inside"), cubin_of(1)));
  CHECK_FALSE(fs::exists(home.home / "inside"));
  const fs::path node = home.folder / "node";
  REQUIRE(publishes(*home.open_there(node), cubin_of(2)));
  for (const auto& entry : fs::directory_iterator(node))
    fs::permissions(entry.path(), fs::perms::all);
  const auto registry = home.open_there(node);
  CHECK(registry->list()->size() == 2);
  CHECK(registry->stats()->journal_mode.find("can be written by") != std::string::npos);
}

// A file system on which a rename loses a race with another writer. The loser goes on with its own
// bytes.
struct LosingFiles : ForwardingFiles {
  Result<void> rename(const Path& from, const Path& to) override {
    if (to.extension() == ".cubin" && !fs::exists(to)) {
      fs::copy_file(from, to);
      return io_error("rename a new file to '" + to.string() + "'", ESTALE);
    }
    return ForwardingFiles::rename(from, to);
  }
};

TEST_CASE("whoever loses a rename says so and leaves a home that is whole") {
  HomeFixture home;
  HomeOptions options = home.options();
  options.files = std::make_shared<LosingFiles>();
  const auto registry = *Home::open(options);
  CHECK_FALSE(registry->publish(cubin_of(1)));  // the Runtime keeps its bytes
  CHECK(registry->find(cubin_of(1).record->identity.kernel())->empty());
  CHECK(publishes(*registry, cubin_of(1)));
  CHECK(serves(*registry, cubin_of(1)));
}

// A FUSE mount that shows `folder` at `place` during its lifetime.
class FuseMount {
 public:
  FuseMount(const fs::path& folder, fs::path place) : place_(std::move(place)) {
    mounted_ = run("bindfs -o default_permissions '" + folder.native() + "' '" + place_.native() + "'");
  }
  ~FuseMount() {
    if (mounted_) run("umount '" + place_.native() + "'");
  }
  FuseMount(const FuseMount&) = delete;
  FuseMount& operator=(const FuseMount&) = delete;
  bool mounted() const { return mounted_; }

 private:
  static bool run(const std::string& command) {
    return std::system((command + " 2>/dev/null >&2").c_str()) == 0;
  }
  fs::path place_;
  bool mounted_ = false;
};

TEST_CASE(
    "a home on a real mount of FUSE is written, found and swept by several processes, without an index") {
  if (!can_fork()) return skip("forks");
  const TempDir folder;
  fs::create_directory(folder / "below");
  fs::create_directory(folder / "mount");
  const FuseMount fuse(folder / "below", folder / "mount");
  if (!fuse.mounted()) return skip("needs bindfs, /dev/fuse and the right to mount");
  HomeFixture home;
  home.home = folder / "mount/home";
  CHECK(posix_file_system()->kind(folder / "mount").name == "FUSE");
  for (int process = 0; process < 3; ++process) {
    CHECK(in_child([&] {
            const auto registry = Home::open(home.options());
            if (!registry) return 1;
            for (int number = 0; number < 8; ++number) {
              if (!(*registry)->publish(cubin_of(number))) return 2;
              if (!serves(**registry, cubin_of(number))) return 3;
            }
            return 0;
          }) == 0);
  }
  const auto registry = home.open();
  CHECK(registry->list()->size() == 8);
  CHECK(registry->sweep());
  CHECK(registry->verify()->findings.empty());
  CHECK(registry->stats()->uses.used >= 8);
  CHECK_FALSE(fs::exists(folder / "below/home/index.sqlite"));
  CHECK(fs::exists(folder / "below/home/uses"));
}

}  // namespace
}  // namespace cubinet::test
