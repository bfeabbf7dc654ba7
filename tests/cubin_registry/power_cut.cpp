// SPDX-License-Identifier: Apache-2.0
#include "cubin_registry/power_cut.hpp"

#include "cubin_registry/home_fixture.hpp"

#include <algorithm>
#include <map>
#include <optional>

namespace cubinet::test {

namespace fs = std::filesystem;
using Did = DiskEvent::Kind;

namespace {

class RecordedFile final : public WritableFile {
 public:
  RecordedFile(std::unique_ptr<WritableFile> file, fs::path path, RecordedFiles& log)
      : file_(std::move(file)), path_(std::move(path)), log_(log) {}

  Result<void> write(ByteView bytes) override {
    auto written = file_->write(bytes);
    if (written) log_.add({Did::write, path_, {}, Bytes(bytes.begin(), bytes.end())});
    return written;
  }
  Result<void> sync() override {
    log_.add({Did::sync, path_});
    return {};
  }
  Result<void> close() override { return file_->close(); }

 private:
  std::unique_ptr<WritableFile> file_;
  fs::path path_;
  RecordedFiles& log_;
};

}  // namespace

void RecordedFiles::add(DiskEvent event) {
  const std::lock_guard lock(mutex_);
  events_.push_back(std::move(event));
}

std::vector<DiskEvent> RecordedFiles::events() const {
  const std::lock_guard lock(mutex_);
  return events_;
}

std::size_t RecordedFiles::count() const {
  const std::lock_guard lock(mutex_);
  return events_.size();
}

Result<std::unique_ptr<WritableFile>> RecordedFiles::create(const Path& path) {
  auto file = ForwardingFiles::create(path);
  if (!file) return file;
  add({Did::create, path});
  return std::unique_ptr<WritableFile>(std::make_unique<RecordedFile>(*std::move(file), path, *this));
}

Result<void> RecordedFiles::link(const Path& from, const Path& to) {
  auto linked = ForwardingFiles::link(from, to);
  if (linked) add({Did::link, from, to, read_file(to)});
  return linked;
}

Result<void> RecordedFiles::rename(const Path& from, const Path& to) {
  auto renamed = ForwardingFiles::rename(from, to);
  if (renamed) add({Did::rename, from, to});
  return renamed;
}

Result<void> RecordedFiles::append(const Path& path, ByteView bytes) {
  auto appended = ForwardingFiles::append(path, bytes);
  if (appended) add({Did::append, path, {}, Bytes(bytes.begin(), bytes.end())});
  return appended;
}

Result<void> RecordedFiles::sync_directory(const Path& path) {
  add({Did::sync_folder, path});
  return {};
}

Result<bool> RecordedFiles::remove(const Path& path) {
  auto removed = ForwardingFiles::remove(path);
  if (removed && *removed) add({Did::remove, path});
  return removed;
}

Result<void> RecordedFiles::create_directories(const Path& path, Mode mode) {
  std::vector<Path> missing;
  for (Path folder = path; !fs::exists(folder); folder = folder.parent_path())
    missing.push_back(folder);
  auto made = ForwardingFiles::create_directories(path, mode);
  std::reverse(missing.begin(), missing.end());
  for (const Path& folder : missing)
    if (made) add({Did::make_folder, folder});
  return made;
}

namespace {

// A file or folder, regardless of its names.
struct Node {
  bool folder = false;
  Bytes synced = {};
  Bytes written = {};
};

// One atomic change of a folder's names: the names and their new nodes, or nullopt if removed.
using Change = std::vector<std::pair<std::string, std::optional<std::size_t>>>;

struct Names {
  std::map<std::string, std::size_t> synced;
  std::map<std::string, std::size_t> now;
  std::vector<Change> since;

  void apply(Change change) {
    apply_to(now, change);
    since.push_back(std::move(change));
  }
  static void apply_to(std::map<std::string, std::size_t>& names, const Change& change) {
    for (const auto& [name, node] : change) {
      if (node) {
        names[name] = *node;
      } else {
        names.erase(name);
      }
    }
  }
};

class Disk {
 public:
  void apply(const DiskEvent& event) {
    const fs::path folder = event.path.parent_path();
    const std::string name = event.path.filename();
    switch (event.kind) {
      case Did::create:
      case Did::make_folder:
        nodes_.push_back({event.kind == Did::make_folder, {}, {}});
        folders_[folder].apply({{name, nodes_.size() - 1}});
        break;
      case Did::write:
      case Did::append: {
        if (!folders_[folder].now.contains(name)) apply({Did::create, event.path});
        Bytes& bytes = node(event.path).written;
        bytes.insert(bytes.end(), event.bytes.begin(), event.bytes.end());
        break;
      }
      case Did::sync:
        node(event.path).synced = node(event.path).written;
        keep_way_to(folder);
        break;
      case Did::link: {
        const auto known = folders_[folder].now.find(name);
        std::size_t linked = nodes_.size();
        if (known != folders_[folder].now.end()) {
          linked = known->second;
        } else {
          nodes_.push_back({false, event.bytes, event.bytes});
        }
        folders_[event.to.parent_path()].apply({{event.to.filename(), linked}});
        break;
      }
      case Did::rename: {
        const std::size_t moved = folders_[folder].now.at(name);
        if (folder == event.to.parent_path()) {
          folders_[folder].apply({{name, std::nullopt}, {event.to.filename(), moved}});
        } else {
          folders_[event.to.parent_path()].apply({{event.to.filename(), moved}});
          folders_[folder].apply({{name, std::nullopt}});
        }
        break;
      }
      case Did::remove:
        folders_[folder].apply({{name, std::nullopt}});
        break;
      case Did::sync_folder:
        folders_[event.path].synced = folders_[event.path].now;
        folders_[event.path].since.clear();
        keep_way_to(event.path);
        break;
    }
  }

  void restore(const fs::path& folder, const fs::path& into, std::mt19937_64& random) {
    Names& names = folders_[folder];
    std::map<std::string, std::size_t> kept = names.synced;
    std::vector<Change> since = names.since;
    if (random() % 4 == 0) std::shuffle(since.begin(), since.end(), random);
    for (const Change& change : since)
      if (random() % 2 == 0) Names::apply_to(kept, change);
    fs::create_directories(into);
    fs::permissions(into, fs::perms(0700));
    for (const auto& [name, number] : kept) {
      if (nodes_[number].folder) {
        restore(folder / name, into / name, random);
      } else {
        write_file(into / name, content(nodes_[number], random));
      }
    }
  }

 private:
  // Makes the folder's name and those above it durable, because its contents are synced.
  void keep_way_to(const fs::path& folder) {
    const auto above = folders_.find(folder.parent_path());
    if (above == folders_.end() || !above->second.now.contains(folder.filename())) return;
    Names& names = above->second;
    const Change made = {{folder.filename(), names.now.at(folder.filename())}};
    if (std::erase(names.since, made) > 0) Names::apply_to(names.synced, made);
    keep_way_to(folder.parent_path());
  }

  Node& node(const fs::path& path) { return nodes_[folders_[path.parent_path()].now.at(path.filename())]; }

  static Bytes content(const Node& node, std::mt19937_64& random) {
    if (node.synced == node.written) return node.written;
    const std::uint64_t choice = random() % 4;
    if (choice == 0) return node.synced;
    if (choice == 1) return node.written;
    const std::size_t size = node.synced.size() + random() % (node.written.size() - node.synced.size() + 1);
    Bytes bytes(node.written.begin(), node.written.begin() + static_cast<std::ptrdiff_t>(size));
    if (choice == 2)
      std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(node.synced.size()), bytes.end(), std::byte{0});
    return bytes;
  }

  std::vector<Node> nodes_;
  std::map<fs::path, Names> folders_;
};

}  // namespace

void restore_after_power_cut(const std::vector<DiskEvent>& events, std::size_t count, const fs::path& root,
                             const fs::path& into, std::mt19937_64& random) {
  Disk disk;
  for (std::size_t i = 0; i < count; ++i)
    disk.apply(events[i]);
  disk.restore(root, into, random);
}

}  // namespace cubinet::test
