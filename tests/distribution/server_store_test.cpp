// SPDX-License-Identifier: Apache-2.0
#include "cubin_registry/forwarding_files.hpp"
#include "served_bundle.hpp"
#include "support/fault_server.hpp"
#include "support/server_process.hpp"
#include "support/text.hpp"

#include <cubinet/cubin_registry/downloads.hpp>
#include <cubinet/distribution/folder_server.hpp>
#include <cubinet/distribution/static_server.hpp>

#include <csignal>
#include <map>
#include <sstream>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace cubinet;
using namespace std::chrono_literals;
using test::contains;
using test::cubins_of;
using test::FaultServer;
using test::ok;

namespace {

// A bundle behind nginx.
struct NginxFixture {
  explicit NginxFixture(std::unique_ptr<test::Nginx> started)
      : nginx(std::move(started)), served(open(test::quick_client({nginx->authority()}))) {}

  std::shared_ptr<ContentServer> open(const std::shared_ptr<HttpClient>& client) const {
    return open_static_server(client, ok(Url::parse(nginx->url("/b"))), nullptr);
  }
  // Returns options with a client of their own, so that connections are not shared.
  ServerStoreOptions options() const {
    ServerStoreOptions made = served.options();
    made.client = test::quick_client({nginx->authority()});
    made.server = open(made.client);
    return made;
  }
  // Returns how often each path was requested since `before`, by range.
  std::map<std::string, int> asked_since(std::size_t before) const {
    // nginx writes a line after it has sent the answer.
    for (std::size_t size = 0; size != log_size();) {
      size = log_size();
      std::this_thread::sleep_for(100ms);
    }
    std::map<std::string, int> asked;
    std::istringstream lines(nginx->access_log().substr(before));
    for (std::string line; std::getline(lines, line);) {
      const std::size_t from = line.find("\"GET ");
      // The sizes of answers distinguish the parts of one pack, because each image has another
      // size.
      const std::size_t status = line.find("\" 20");
      if (from == std::string::npos) continue;  // the end of an earlier push
      REQUIRE(status != std::string::npos);
      ++asked[line.substr(from, line.find(" \"", status) - from)];
    }
    return asked;
  }
  std::size_t log_size() const { return nginx->access_log().size(); }

  std::unique_ptr<test::Nginx> nginx;
  test::ServedBundle served;
};

std::unique_ptr<NginxFixture> behind_nginx() {
  auto nginx = test::Nginx::start();
  return nginx ? std::make_unique<NginxFixture>(std::move(nginx)) : nullptr;
}

std::vector<std::string> open_files() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const auto target = std::filesystem::read_symlink(entry.path(), gone);
    if (!gone && target.string().find("/proc/") != 0) files.push_back(target.string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

const CubinRecord& first_kernel() {
  static const auto record = cubins_of(1).front().record;
  return *record;
}

Result<std::optional<Cubin>> load_kernel(Store& store, const CubinRecord& kernel) {
  CUBINET_TRY_ASSIGN(const CubinRecords found, store.find(kernel.identity.kernel()));
  if (found.empty()) return std::optional<Cubin>();
  return store.load(found.front());
}

}  // namespace

TEST_CASE("a kernel comes from a server, is published into the home, and is found there without it") {
  const auto fixture = behind_nginx();
  if (!fixture) return;
  fixture->served.push(7, 3);
  const Cubin wanted = cubins_of(3).at(2);
  {
    const auto store = ok(open_server_store(fixture->options()));
    CHECK(store->description().kind == "server");
    CHECK(store->description().remote);
    CHECK(row_table_of(*store) != nullptr);
    CHECK(store->description().place == "https://files.example/kernels#stable");
    const auto cubin = ok(load_kernel(*store, *wanted.record));
    REQUIRE(cubin);
    CHECK(*cubin->image == *wanted.image);
    CHECK(cubin->record->version == 7);
    CHECK(store->fetched_bytes() > 50'000);
    CHECK(store->fetched_bytes() < 100'000);
    CHECK(ok(store->find_key(wanted.record->identity.key())).size() == 1);
    CHECK(ok(store->list()).size() == 3);
  }
  const auto home = fixture->served.home();
  const auto kept = ok(home->find(wanted.record->identity.kernel()));
  REQUIRE(kept.size() == 1);
  CHECK(kept.front()->origin == CubinOrigin::bundle);
  CHECK(*ok(home->load(kept.front()))->image == *wanted.image);
  const KnownChannel known = ok(home->downloads().channel("https://files.example/kernels#stable"));
  CHECK(known.uses.asked == 1);
  CHECK(known.uses.found == 1);
  CHECK(known.uses.used == 1);
  CHECK(known.uses.bytes > 50'000);
}

TEST_CASE("a second process asks nothing for the root, the pages and what was used before") {
  const auto fixture = behind_nginx();
  if (!fixture) return;
  fixture->served.push(7, 3);
  ok(load_kernel(*ok(open_server_store(fixture->options())), first_kernel()));
  const std::size_t before = fixture->log_size();
  const auto store = ok(open_server_store(fixture->options()));
  const auto cubin = ok(load_kernel(*store, first_kernel()));
  REQUIRE(cubin);
  CHECK(*cubin->image == *cubins_of(1).front().image);
  CHECK(fixture->asked_since(before).empty());
  CHECK(store->fetched_bytes() == 0);
}

TEST_CASE("sixteen processes that start at once ask once for each page and each kernel") {
  const auto fixture = behind_nginx();
  if (!fixture) return;
  fixture->served.push(7, 4);
  const std::size_t before = fixture->log_size();
  const auto cubins = cubins_of(4);
  std::vector<pid_t> children;
  for (int i = 0; i < 16; ++i) {
    children.push_back(::fork());
    if (children.back() != 0) continue;
    const auto store = open_server_store(fixture->options());
    bool right = store.has_value() && (*store)->list().has_value();
    for (std::size_t j = 0; right && j < cubins.size(); ++j) {
      const auto cubin = load_kernel(**store, *cubins[(j + static_cast<std::size_t>(i)) % 4].record);
      right = cubin && *cubin && *(*cubin)->image == *cubins[(j + static_cast<std::size_t>(i)) % 4].image;
    }
    ::_exit(right ? 0 : 1);
  }
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
  }
  // The requests are the channel, the manifest, the root, a page of records, a page of images, and
  // four frames of one size.
  const auto asked = fixture->asked_since(before);
  int requests = 0;
  for (const auto& [request, count] : asked)
    requests += count;
  CAPTURE(fixture->nginx->access_log().substr(before));
  CHECK(requests == 5 + 4);
}

TEST_CASE("a process that is killed while it fetches keeps nobody waiting") {
  const test::TempDir folder;
  test::ServedBundle served(open_folder_server(posix_file_system(), folder / "served"));
  served.push(7);
  const FaultServer stalling([](auto&, auto) {
    auto answer = test::reply(200);
    answer.bytes.clear();
    answer.stalls = true;
    return answer;
  });
  const pid_t child = ::fork();
  if (child == 0) {
    ServerStoreOptions options = served.options();
    options.server = open_static_server(test::quick_client({stalling.authority()}),
                                        ok(Url::parse(stalling.url("/"))), nullptr);
    (void)(*open_server_store(options))->list().has_value();
    ::_exit(0);
  }
  while (stalling.requests().empty())
    ::usleep(1000);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  const auto start = std::chrono::steady_clock::now();
  CHECK(ok(ok(open_server_store(served.options()))->list()).size() == 3);
  CHECK(std::chrono::steady_clock::now() - start < 5s);
}

TEST_CASE("a server that is dead costs its limit once and no page of it is asked for") {
  const test::TempDir folder;
  test::ServedBundle served(open_folder_server(posix_file_system(), folder / "served"));
  std::atomic<bool> dead = true;
  served.push(7);
  const FaultServer server([&](const test::ReceivedRequest& request, auto) {
    if (dead) return test::reply(503);
    const auto file = posix_file_system()->read(folder / ("served" + request.target), 1 << 24);
    return file ? test::reply(200, as_text(*file)) : test::reply(404);
  });
  ServerStoreOptions options = served.options();
  options.server =
      open_static_server(test::quick_client({server.authority()}), ok(Url::parse(server.url("/"))), nullptr);
  options.rest = 300ms;
  const auto store = ok(open_server_store(options));
  for (int i = 0; i < 20; ++i)
    CHECK(store->find(first_kernel().identity.kernel()).error().code == ErrorCode::unavailable);
  CHECK(server.requests().size() == 3);  // the attempts to read the channel
  dead = false;
  std::this_thread::sleep_for(350ms);
  CHECK(ok(store->find(first_kernel().identity.kernel())).size() == 1);
}

TEST_CASE("behind a process that a server keeps waiting nobody asks it again") {
  test::TempDir folder;
  test::ServedBundle bundle(open_folder_server(posix_file_system(), folder / "served"));
  bundle.push(1);
  auto options = bundle.options();
  options.patience = 200ms;
  const auto home = bundle.home();
  for (const bool with_home : {true, false}) {
    // Another process that waits for the channel holds this lock.
    auto asking = home->downloads().lock(sha256(as_bytes(options.reference.to_full_string())), 1s);
    REQUIRE(asking);
    auto own = options;
    if (!with_home) own.home = nullptr;  // has no contact with other processes
    const auto store = ok(open_server_store(std::move(own)));
    const auto began = std::chrono::steady_clock::now();
    const auto found = store->find(first_kernel().identity.kernel());
    CHECK(found.has_value() != with_home);
    CHECK(std::chrono::steady_clock::now() - began < 5s);
    if (!with_home) continue;
    CHECK(found.error().code == ErrorCode::unavailable);
    CHECK(contains(found.error().message, "another process"));
    asking.reset();
    // This store skips the channel from now on. A new process queries it.
    CHECK_FALSE(store->find(first_kernel().identity.kernel()));
    CHECK(ok(ok(open_server_store(options))->find(first_kernel().identity.kernel())).size() == 1);
    // The same holds for a kernel.
    auto fetching = home->downloads().lock(first_kernel().digest, 1s);
    const auto another = ok(open_server_store(options));
    const auto records = ok(another->find(first_kernel().identity.kernel()));
    const auto loaded = another->load(records.at(0));
    CHECK_FALSE((loaded && *loaded));
    fetching.reset();
    CHECK(ok(load_kernel(*ok(open_server_store(options)), first_kernel())).has_value());
  }
}

TEST_CASE("a policy judges the root before anything of the pack is asked for") {
  const auto fixture = behind_nginx();
  if (!fixture) return;
  fixture->served.push(7);
  const SecretKey key = ok(SecretKey::generate());
  ServerStoreOptions options = fixture->options();
  options.policy.emplace().trusted_keys = {key.public_key()};
  const std::size_t before = fixture->log_size();
  const auto store = ok(open_server_store(options));
  CHECK(store->list().error().code == ErrorCode::untrusted);
  CHECK(store->list().error().code == ErrorCode::untrusted);
  CHECK(fixture->asked_since(before).size() == 3);  // channel, manifest, root
}

TEST_CASE("offline nothing is looked up and no library is opened") {
  const test::TempDir folder;
  test::ServedBundle served(open_folder_server(posix_file_system(), folder / "served"));
  HttpSettings settings;
  settings.offline = true;
  settings.library = (folder / "no-such-library").string();
  ServerStoreOptions options = served.options();
  options.client = std::make_shared<HttpClient>(settings);
  options.server = open_static_server(options.client, ok(Url::parse("https://files.invalid/b")), nullptr);
  options.offline = true;
  const auto store = ok(open_server_store(options));
  const auto found = store->find(first_kernel().identity.kernel());
  REQUIRE_FALSE(found);
  CHECK(found.error().code == ErrorCode::unavailable);
  CHECK_FALSE(contains(found.error().message, "no-such-library"));
}

TEST_CASE("between two questions a process holds no socket, lock or file") {
  const auto fixture = behind_nginx();
  if (!fixture) return;
  fixture->served.push(7);
  const auto store = ok(open_server_store(fixture->options()));
  const auto before = open_files();
  ok(load_kernel(*store, first_kernel()));
  ok(store->list());
  for (const std::string& file : open_files()) {
    if (std::find(before.begin(), before.end(), file) != before.end()) continue;
    CAPTURE(file);
    CHECK(file.ends_with("/home/index.sqlite"));  // the home's own file
  }
}

TEST_CASE("into a home without locks every process fetches for itself, and keeps what it has") {
  struct WithoutLocks : test::ForwardingFiles {
    Result<std::unique_ptr<FileLock>> lock(const Path&, Sharing) override { return io_error("lock", ENOLCK); }
  };
  test::TempDir folder;
  test::ServedBundle bundle(open_folder_server(posix_file_system(), folder / "served"));
  bundle.push(1);
  auto options = bundle.options();
  options.home =
      ok(Home::open({.path = (folder / "home").string(), .files = std::make_shared<WithoutLocks>()}));
  for (int process = 0; process < 2; ++process) {
    const auto store = ok(open_server_store(options));
    const auto cubin = ok(load_kernel(*store, first_kernel()));
    REQUIRE(cubin);
    CHECK(*cubin->image == *cubins_of(1).front().image);
    CHECK((store->fetched_bytes() > 0) == (process == 0));
  }
  CHECK(ok(options.home->verify()).findings.empty());
  CHECK(ok(options.home->downloads().channel(options.reference.to_full_string())).manifest);
}

TEST_CASE("what is fetched into a home that cannot be written, or into none, is served all the same") {
  const test::TempDir folder;
  test::ServedBundle served(open_folder_server(posix_file_system(), folder / "served"));
  served.push(7);
  ServerStoreOptions options = served.options();
  options.home = nullptr;
  CHECK(ok(load_kernel(*ok(open_server_store(options)), first_kernel())));
  options.home = served.home(HomeOptions::Access::read_only);
  CHECK(ok(load_kernel(*ok(open_server_store(options)), first_kernel())));
  CHECK(ok(options.home->list()).empty());
}
