// SPDX-License-Identifier: Apache-2.0
#include "cubin_registry/fault_injection.hpp"

#include <sqlite3.h>

#include <cstring>
#include <sys/wait.h>
#include <unistd.h>

namespace cubinet::test {

namespace fs = std::filesystem;

void FaultPlan::set(Kind kind, unsigned at, int error_number, Counts counts) {
  kind_ = kind;
  at_ = at;
  error_number_ = error_number;
  counts_ = counts;
  calls_ = 0;
  reached_ = false;
  dies_writing_ = false;
}

void FaultPlan::set_random(unsigned seed, unsigned one_of, int error_number) {
  set(Kind::error_at_random, one_of, error_number);
  random_.seed(seed + 1);
}

bool FaultPlan::counts(Call call) const {
  const bool kills = kind_ == Kind::death || kind_ == Kind::death_unwritten;
  return (counts_ == Counts::all || call.of_sqlite) && (call.changes || !kills);
}

int FaultPlan::before_call(Call call) {
  if (watcher_) watcher_(call);
  const bool counted = counts(call);
  if (counted) ++calls_;
  const bool now = counted && (kind_ == Kind::error_at_random ? random_() % at_ == 0 : calls_ == at_);
  const bool hit = kind_ != Kind::none && (now || (kind_ == Kind::error_from_then_on && reached_));
  if (!hit) return 0;
  reached_ = true;
  if (kind_ == Kind::death || kind_ == Kind::death_unwritten) ::_exit(dies_writing_ ? kDiedWriting : kDied);
  ++failed_;
  return error_number_;
}

bool FaultPlan::dies_writing() {
  dies_writing_ = kind_ == Kind::death && calls_ + 1 == at_;
  return dies_writing_;
}

namespace {

constexpr FaultPlan::Call kLook{false, false};
constexpr FaultPlan::Call kChange{false, true};
constexpr FaultPlan::Call kSqliteLook{true, false};
constexpr FaultPlan::Call kSqliteChange{true, true};
constexpr FaultPlan::Call kSqliteSync{true, false, true};

class FaultyFile final : public WritableFile {
 public:
  FaultyFile(std::unique_ptr<WritableFile> file, std::shared_ptr<FaultPlan> plan)
      : file_(std::move(file)), plan_(std::move(plan)) {}

  Result<void> write(ByteView bytes) override {
    if (plan_->dies_writing()) static_cast<void>(file_->write(bytes.first(bytes.size() / 2)));
    if (const int error = plan_->before_call(kChange)) {
      static_cast<void>(file_->write(bytes.first(bytes.size() / 2)));
      return io_error("write", error);
    }
    return file_->write(bytes);
  }
  Result<void> sync() override {
    if (const int error = plan_->before_call(kLook)) return io_error("sync", error);
    return {};
  }
  Result<void> close() override {
    if (const int error = plan_->before_call(kLook)) return io_error("close", error);
    return file_->close();
  }

 private:
  std::unique_ptr<WritableFile> file_;
  std::shared_ptr<FaultPlan> plan_;
};

class FaultyFileSystem final : public FileSystem {
 public:
  explicit FaultyFileSystem(std::shared_ptr<FaultPlan> plan) : plan_(std::move(plan)) {}

  Result<Bytes> read(const fs::path& path, std::uint64_t limit) override {
    return guarded("read", kLook, [&] { return files_->read(path, limit); });
  }
  Result<OwnFile> read_own(const fs::path& path, std::uint64_t limit) override {
    return guarded("read", kLook, [&] { return files_->read_own(path, limit); });
  }
  Result<Bytes> read_range(const fs::path& path, std::uint64_t offset, std::uint64_t count) override {
    return guarded("read", kLook, [&] { return files_->read_range(path, offset, count); });
  }
  Result<std::unique_ptr<WritableFile>> create(const fs::path& path) override {
    auto file = guarded("create", kChange, [&] { return files_->create(path); });
    if (!file) return file;
    return std::unique_ptr<WritableFile>(std::make_unique<FaultyFile>(*std::move(file), plan_));
  }
  Result<void> link(const fs::path& from, const fs::path& to) override {
    return guarded("link", kChange, [&] { return files_->link(from, to); });
  }
  Result<void> rename(const fs::path& from, const fs::path& to) override {
    return guarded("rename", kChange, [&] { return files_->rename(from, to); });
  }
  void guard(const fs::path& folder) override { files_->guard(folder); }
  Result<void> enclose(const fs::path& folder) override { return files_->enclose(folder); }
  Result<void> append(const fs::path& path, ByteView bytes) override {
    if (plan_->dies_writing()) static_cast<void>(files_->append(path, bytes.first(bytes.size() / 2)));
    return guarded("append", kChange, [&] { return files_->append(path, bytes); });
  }
  Result<void> sync_directory(const fs::path&) override {
    return guarded("sync", kLook, [] { return Result<void>(); });
  }
  Result<bool> remove(const fs::path& path) override {
    return guarded("remove", kChange, [&] { return files_->remove(path); });
  }
  Result<void> remove_tree(const fs::path& path) override {
    return guarded("remove", kChange, [&] { return files_->remove_tree(path); });
  }
  Result<void> create_directories(const fs::path& path, Mode mode) override {
    return guarded("mkdir", kChange, [&] { return files_->create_directories(path, mode); });
  }
  Result<std::optional<FileStatus>> status(const fs::path& path) override {
    return guarded("status", kLook, [&] { return files_->status(path); });
  }
  Result<Listing> list(const fs::path& path) override {
    return guarded("list", kLook, [&] { return files_->list(path); });
  }
  Result<std::unique_ptr<FileLock>> lock(const fs::path& path, Sharing sharing) override {
    return guarded("lock", kLook, [&] { return files_->lock(path, sharing); });
  }
  Result<void> check_writable(const fs::path& path) override { return files_->check_writable(path); }
  FileSystemKind kind(const fs::path& path) override { return files_->kind(path); }

 private:
  template <class Call>
  auto guarded(const char* what, FaultPlan::Call kind, Call&& call) -> decltype(call()) {
    if (const int error = plan_->before_call(kind)) return io_error(what, error);
    return call();
  }

  std::shared_ptr<FileSystem> files_ = posix_file_system();
  std::shared_ptr<FaultPlan> plan_;
};

// SQLite's interface to files is C, so the current plan is global while a FaultyVfs exists.
struct VfsState {
  std::shared_ptr<FaultPlan> plan;
  sqlite3_vfs* real = nullptr;
  sqlite3_vfs vfs{};
};
VfsState* vfs_state = nullptr;

struct ShimFile {
  sqlite3_file base;
  sqlite3_file* real() { return static_cast<sqlite3_file*>(static_cast<void*>(this + 1)); }
};

ShimFile* shim(sqlite3_file* file) {
  return static_cast<ShimFile*>(static_cast<void*>(file));
}

// Returns the SQLite status of a faulty call.
int status_of(int error_number, int otherwise) {
  return error_number == ENOSPC ? SQLITE_FULL : otherwise;
}

int shim_close(sqlite3_file* file) {
  return shim(file)->real()->pMethods->xClose(shim(file)->real());
}
int shim_read(sqlite3_file* file, void* data, int count, sqlite3_int64 offset) {
  if (vfs_state->plan->before_call(kSqliteLook) != 0) return SQLITE_IOERR_READ;
  return shim(file)->real()->pMethods->xRead(shim(file)->real(), data, count, offset);
}
int shim_write(sqlite3_file* file, const void* data, int count, sqlite3_int64 offset) {
  sqlite3_file* real = shim(file)->real();
  if (vfs_state->plan->dies_writing()) real->pMethods->xWrite(real, data, count / 2, offset);
  if (const int error = vfs_state->plan->before_call(kSqliteChange))
    return status_of(error, SQLITE_IOERR_WRITE);
  return real->pMethods->xWrite(real, data, count, offset);
}
int shim_truncate(sqlite3_file* file, sqlite3_int64 size) {
  if (const int error = vfs_state->plan->before_call(kSqliteChange))
    return status_of(error, SQLITE_IOERR_TRUNCATE);
  return shim(file)->real()->pMethods->xTruncate(shim(file)->real(), size);
}
int shim_sync(sqlite3_file*, int) {
  if (const int error = vfs_state->plan->before_call(kSqliteSync))
    return status_of(error, SQLITE_IOERR_FSYNC);
  return SQLITE_OK;
}
int shim_size(sqlite3_file* file, sqlite3_int64* size) {
  return shim(file)->real()->pMethods->xFileSize(shim(file)->real(), size);
}
int shim_lock(sqlite3_file* file, int level) {
  if (vfs_state->plan->before_call(kSqliteLook) != 0) return SQLITE_IOERR_LOCK;
  return shim(file)->real()->pMethods->xLock(shim(file)->real(), level);
}
int shim_unlock(sqlite3_file* file, int level) {
  return shim(file)->real()->pMethods->xUnlock(shim(file)->real(), level);
}
int shim_check_lock(sqlite3_file* file, int* held) {
  return shim(file)->real()->pMethods->xCheckReservedLock(shim(file)->real(), held);
}
int shim_control(sqlite3_file* file, int operation, void* argument) {
  return shim(file)->real()->pMethods->xFileControl(shim(file)->real(), operation, argument);
}
int shim_sector(sqlite3_file* file) {
  return shim(file)->real()->pMethods->xSectorSize(shim(file)->real());
}
int shim_characteristics(sqlite3_file* file) {
  return shim(file)->real()->pMethods->xDeviceCharacteristics(shim(file)->real());
}

const sqlite3_io_methods kShimMethods = {1,
                                         shim_close,
                                         shim_read,
                                         shim_write,
                                         shim_truncate,
                                         shim_sync,
                                         shim_size,
                                         shim_lock,
                                         shim_unlock,
                                         shim_check_lock,
                                         shim_control,
                                         shim_sector,
                                         shim_characteristics,
                                         nullptr,
                                         nullptr,
                                         nullptr,
                                         nullptr,
                                         nullptr,
                                         nullptr};

int shim_open(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out_flags) {
  file->pMethods = nullptr;
  // Opening may create the file, so it counts as a change.
  if (vfs_state->plan->before_call(kSqliteChange) != 0) return SQLITE_CANTOPEN;
  const int status = vfs_state->real->xOpen(vfs_state->real, name, shim(file)->real(), flags, out_flags);
  if (shim(file)->real()->pMethods != nullptr) file->pMethods = &kShimMethods;
  return status;
}
int shim_delete(sqlite3_vfs*, const char* name, int sync) {
  if (vfs_state->plan->before_call(kSqliteChange) != 0) return SQLITE_IOERR_DELETE;
  static_cast<void>(sync);
  return vfs_state->real->xDelete(vfs_state->real, name, 0);
}

}  // namespace

std::shared_ptr<FileSystem> faulty_file_system(std::shared_ptr<FaultPlan> plan) {
  return std::make_shared<FaultyFileSystem>(std::move(plan));
}

FaultyVfs::FaultyVfs(std::shared_ptr<FaultPlan> plan) {
  vfs_state = new VfsState;
  vfs_state->plan = std::move(plan);
  vfs_state->real = sqlite3_vfs_find(nullptr);
  vfs_state->vfs = *vfs_state->real;
  vfs_state->vfs.zName = "cubinet-faulty";
  vfs_state->vfs.pNext = nullptr;
  vfs_state->vfs.szOsFile = static_cast<int>(sizeof(ShimFile)) + vfs_state->real->szOsFile;
  vfs_state->vfs.xOpen = shim_open;
  vfs_state->vfs.xDelete = shim_delete;
  sqlite3_vfs_register(&vfs_state->vfs, 1);
}

FaultyVfs::~FaultyVfs() {
  sqlite3_vfs_unregister(&vfs_state->vfs);
  sqlite3_vfs_register(vfs_state->real, 1);
  delete std::exchange(vfs_state, nullptr);
}

int in_child(const std::function<int()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      ::_exit(body());
    } catch (...) {  // the child must not run the rest of the tests after a failed REQUIRE
      ::_exit(99);
    }
  }
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CUBINET_TEST_THREAD_SANITIZER
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define CUBINET_TEST_THREAD_SANITIZER
#endif

bool can_fork() {
#if defined(CUBINET_TEST_THREAD_SANITIZER)
  return false;
#else
  return true;
#endif
}

}  // namespace cubinet::test
