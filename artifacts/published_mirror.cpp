// SPDX-License-Identifier: Apache-2.0
#include "mirror_tree.hpp"

#include <cubinet/artifacts/artifact_folder.hpp>
#include <cubinet/artifacts/checksums.hpp>
#include <cubinet/artifacts/published_mirror.hpp>
#include <cubinet/base/text.hpp>
#include <cubinet/distribution/file_server.hpp>
#include <cubinet/kernel_table/metadata_header.hpp>
#include <cubinet/spec/cubin.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <set>

namespace cubinet {
namespace {

// The published lists have 2.4 MB for 13,453 files.
constexpr std::uint64_t kMaximumList = std::uint64_t{64} << 20;
constexpr std::size_t kMirroredBatch = 16;
constexpr std::string_view kCubinSuffix = ".cubin";

// Returns whether the file is a kernel or metadata. Host code is not mirrored.
bool is_mirrored(std::string_view name) {
  static constexpr std::array<std::string_view, 6> kSuffixes = {kCubinSuffix, ".fatbin", ".ptx",
                                                                ".h",         ".json",   ".txt"};
  return std::any_of(kSuffixes.begin(), kSuffixes.end(), [&](auto suffix) { return name.ends_with(suffix); });
}

std::string joined(const std::string& folder, const std::string& name) {
  return folder.empty() ? name : folder + "/" + name;
}

// The folders of a mirror's names and their content.
class Pages {
 public:
  void add(const std::string& name) {
    std::size_t begin = 0;
    for (std::size_t end; (end = name.find('/', begin)) != std::string::npos; begin = end + 1) {
      folders_[name.substr(0, begin)].insert(name.substr(begin, end + 1 - begin));
      folders_[name.substr(0, end + 1)];
    }
    folders_[name.substr(0, begin)].insert(name.substr(begin));
  }
  // Returns each folder with its '/', the root first: "", "include/", …
  const std::map<std::string, std::set<std::string>>& folders() const { return folders_; }

 private:
  std::map<std::string, std::set<std::string>> folders_;
};

std::string without_slash(const std::string& folder) {
  return folder.ends_with('/') ? folder.substr(0, folder.size() - 1) : folder;
}

// The targets for which a folder's headers have a row of each function.
class MirrorChoice {
 public:
  explicit MirrorChoice(const PublishedMirrorOptions& options) : options_(options) {}

  bool needs_headers() const { return !options_.targets.empty() || options_.choose; }
  Result<void> add(const std::string& name, ByteView bytes) {
    CUBINET_TRY_ASSIGN(const MetadataHeader header, read_metadata_header(as_text(bytes)));
    for (const KernelRow& row : header.rows)
      targets_[row.function_name].push_back(row.target);
    for (const PlainKernel& kernel : header.plain)
      targets_[kernel.function_name].push_back(kernel.target);
    if (!options_.choose) return {};
    CUBINET_TRY_ASSIGN(const auto chosen, options_.choose(name, bytes));
    chosen_.insert(chosen.begin(), chosen.end());
    return {};
  }
  bool wants(const std::string& name) const {
    if (!name.ends_with(kCubinSuffix)) return true;
    std::string function = name.substr(0, name.size() - kCubinSuffix.size());
    function.erase(0, function.rfind('/') + 1);
    // GEMM folders capitalise the first letter of a function's file.
    std::string small = function;
    if (!small.empty() && small.front() >= 'A' && small.front() <= 'Z')
      small.front() = static_cast<char>(small.front() + 32);
    return is_of_functions(function, small) && is_for_targets(function, small);
  }

 private:
  bool is_of_functions(const std::string& function, const std::string& small) const {
    if (options_.choose && !chosen_.contains(function) && !chosen_.contains(small)) return false;
    const auto& wanted = options_.functions;
    return wanted.empty() || std::any_of(wanted.begin(), wanted.end(), [&](const std::string& one) {
             return one == function || one == small;
           });
  }
  bool is_for_targets(const std::string& function, const std::string& small) const {
    auto rows = targets_.find(function);
    if (rows == targets_.end()) rows = targets_.find(small);
    if (options_.targets.empty() || rows == targets_.end()) return true;
    return std::any_of(rows->second.begin(), rows->second.end(), [&](SmTarget target) {
      return std::find(options_.targets.begin(), options_.targets.end(), target) != options_.targets.end();
    });
  }

  const PublishedMirrorOptions& options_;
  std::map<std::string, std::vector<SmTarget>> targets_;
  std::set<std::string> chosen_;
};

class FolderMirror {
 public:
  FolderMirror(FileServer& source, const MirrorTree& tree, const PublishedMirrorOptions& options,
               const PublishedList& list)
      : source_(source), tree_(tree), options_(options), choice_(options) {
    folder_.list = list;
  }

  // Returns false if it was cancelled.
  Result<bool> run() {
    CUBINET_TRY(tree_.make_folder(folder_.list.folder));
    CUBINET_TRY_ASSIGN(const bool known, get_list());
    if (!known) return true;
    CUBINET_TRY(make_folders());
    CUBINET_TRY(get_headers());
    get_files();
    if (failure_) return *std::move(failure_);
    if (std::any_of(files_.begin(), files_.end(), [](const File& file) { return !file.done; })) return false;
    CUBINET_TRY(publish());
    return true;
  }

  MirroredFolder take() { return std::move(folder_); }

 private:
  struct File {
    ChecksumEntry entry;
    bool done = false;
    bool there = false;
  };

  std::string at(const std::string& name) const { return joined(folder_.list.folder, name); }

  void find(ArtifactFindings& findings, const std::string& name, std::string reason) const {
    findings.add({name, std::move(reason), folder_.list.folder});
  }

  Result<bool> get_list() {
    const std::string name = at(kChecksumsName);
    CUBINET_TRY_ASSIGN(const auto there, tree_.read(name, kMaximumList));
    if (there) {
      if (const Sha256Digest found = sha256(*there); found != folder_.list.digest)
        return Error{
            ErrorCode::invalid_argument,
            "the mirror has another '" + name + "', of SHA-256 " + found.to_hex() + " and not " +
                folder_.list.digest.to_hex(),
            "what is published does not change: is the digest right? if the file is damaged, remove it"};
      list_ = *there;
    } else {
      auto fetched = source_.read(name, folder_.list.digest, kMaximumList);
      if (!fetched && fetched.error().code == ErrorCode::not_found) {
        find(folder_.missing, kChecksumsName, fetched.error().message);
        return false;
      }
      CUBINET_TRY_ASSIGN(list_, std::move(fetched));
    }
    auto entries = read_checksums(as_text(list_));
    if (!entries) {
      Error error = std::move(entries).error();
      error.message = "'" + name + "': " + error.message;
      return error;
    }
    folder_.listed = entries->size();
    for (ChecksumEntry& entry : *entries)
      CUBINET_TRY(take(std::move(entry)));
    return true;
  }

  Result<void> take(ChecksumEntry entry) {
    if (!is_mirrored(entry.name)) {
      find(folder_.left_out, entry.name,
           entry.name.ends_with(".so") ? "it runs on the host" : "it is neither a cubin nor a header");
      return {};
    }
    if (const std::string_view reason = why_not_mirrored(entry.name); !reason.empty())
      return Error{ErrorCode::untrusted, "line " + std::to_string(entry.line) + " of '" + at(kChecksumsName) +
                                             "' names a file that " + std::string(reason)};
    files_.push_back({std::move(entry)});
    return {};
  }

  Result<void> make_folders() {
    Pages all;
    for (const File& file : files_)
      all.add(file.entry.name);
    for (const auto& [folder, names] : all.folders()) {
      if (!folder.empty()) CUBINET_TRY(tree_.make_folder(at(without_slash(folder))));
    }
    return {};
  }

  // Fetches the headers first if the selection depends on them: they state the target of each
  // cubin.
  Result<void> get_headers() {
    for (File& file : files_) {
      if (!choice_.needs_headers() || !is_metadata_header(file.entry.name)) continue;
      CUBINET_TRY_ASSIGN(const auto header, get(file, true));
      file.done = true;
      CUBINET_TRY(choice_.add(at(file.entry.name), *header));
    }
    return {};
  }

  void get_files() {
    const std::size_t batches = (files_.size() + kMirroredBatch - 1) / kMirroredBatch;
    const auto work = [this](std::size_t batch) {
      const std::size_t begin = batch * kMirroredBatch;
      const std::size_t end = std::min(begin + kMirroredBatch, files_.size());
      for (std::size_t i = begin; i < end && !is_over(); ++i)
        if (!files_[i].done) settle(files_[i]);
      return plural(end - begin, "file");
    };
    if (options_.run) return options_.run(folder_.list.folder, batches, work);
    for (std::size_t batch = 0; batch < batches && !is_over(); ++batch)
      work(batch);
  }

  bool is_over() {
    if (options_.cancelled && options_.cancelled()) return true;
    const std::lock_guard lock(mutex_);
    return failure_.has_value();
  }

  void settle(File& file) {
    const auto got = get(file, choice_.wants(file.entry.name));
    const std::lock_guard lock(mutex_);
    file.done = got || got.error().code == ErrorCode::not_found || got.error().code == ErrorCode::corruption;
    if (got) {
      if (!*got) ++folder_.not_wanted;
    } else if (got.error().code == ErrorCode::not_found) {
      find(folder_.missing, file.entry.name, got.error().message);
    } else if (file.done) {
      find(folder_.damaged, file.entry.name, got.error().message);
    } else if (!failure_) {
      failure_ = got.error();
    }
  }

  // Returns nullopt if the file is neither requested nor stored. A stored file is repaired even if
  // it is not requested now, so that pages lose nothing. A damaged file that cannot be fetched
  // again is removed.
  Result<std::optional<Bytes>> get(File& file, bool wanted) {
    const std::string name = at(file.entry.name);
    CUBINET_TRY_ASSIGN(auto there, tree_.read(name, kMaximumImageBytes));
    if (there && sha256(*there) == file.entry.digest) {
      note(file, folder_.there, there->size());
      return there;
    }
    if (!there && !wanted) return std::optional<Bytes>();
    auto bytes = source_.read(name, file.entry.digest, kMaximumImageBytes);
    if (!bytes) {
      if (there) CUBINET_TRY(tree_.remove(name));
      return bytes.error();
    }
    CUBINET_TRY(tree_.write(name, *bytes));
    note(file, folder_.fetched, bytes->size());
    return std::optional(*std::move(bytes));
  }

  void note(File& file, std::uint64_t& count, std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    file.there = true;
    ++count;
    folder_.bytes += bytes;
    if (&count == &folder_.fetched) folder_.fetched_bytes += bytes;
  }

  // Writes the folder's own page last, because it leads to the others.
  Result<void> publish() {
    CUBINET_TRY_ASSIGN(const auto there, tree_.read(at(kChecksumsName), kMaximumList));
    if (!there) CUBINET_TRY(tree_.write(at(kChecksumsName), list_));
    Pages pages;
    pages.add(kChecksumsName);
    for (const File& file : files_)
      if (file.there) pages.add(file.entry.name);
    const auto& folders = pages.folders();
    for (auto page = folders.rbegin(); page != folders.rend(); ++page)
      CUBINET_TRY(
          tree_.write_index(without_slash(at(page->first)), {page->second.begin(), page->second.end()}));
    return {};
  }

  FileServer& source_;
  const MirrorTree& tree_;
  const PublishedMirrorOptions& options_;
  MirrorChoice choice_;
  Bytes list_;
  std::vector<File> files_;
  std::mutex mutex_;  // guards the members below, and the members of files_
  std::optional<Error> failure_;
  MirroredFolder folder_;
};

// Returns an error if one folder is inside another: both would write the same page.
Result<void> check_apart(const std::vector<PublishedList>& lists) {
  std::vector<std::string> folders;
  for (const PublishedList& list : lists) {
    if (!list.folder.empty())
      if (const std::string_view reason = why_not_mirrored(list.folder); !reason.empty())
        return Error{ErrorCode::untrusted, "the published folder '" + printable(list.folder, kQuotedBytes) +
                                               "' " + std::string(reason)};
    folders.push_back(list.folder.empty() ? "" : list.folder + "/");
  }
  std::sort(folders.begin(), folders.end());
  for (std::size_t i = 1; i < folders.size(); ++i) {
    if (folders[i].starts_with(folders[i - 1]))
      return Error{
          ErrorCode::invalid_argument,
          "the published folder '" + folders[i] + "' is named twice, or is inside '" + folders[i - 1] + "'",
          "mirror them one after the other into folders of their own"};
  }
  return {};
}

}  // namespace

Result<std::vector<PublishedList>> read_published_lists(std::string_view text) {
  CUBINET_TRY_ASSIGN(const auto entries, read_checksums(text));
  std::vector<PublishedList> lists;
  for (const ChecksumEntry& entry : entries) {
    const std::size_t begin = entry.name.rfind('/') + 1;
    if (entry.name.substr(begin) != kChecksumsName)
      return Error{ErrorCode::corruption,
                   "line " + std::to_string(entry.line) + " names '" + printable(entry.name, kQuotedBytes) +
                       "', which is no checksums.txt",
                   "name the lists of published folders: `sha256sum */checksums.txt` writes such lines"};
    lists.push_back({without_slash(entry.name.substr(0, begin)), entry.digest});
  }
  return lists;
}

Result<std::vector<PublishedList>> published_lists_of(FileSystem& files, const std::filesystem::path& root) {
  CUBINET_TRY_ASSIGN(const ArtifactFolders found, find_artifact_folders(root));
  if (!found.unreadable.empty())
    return Error{ErrorCode::io, "'" + found.unreadable.front().path.string() +
                                    "' cannot be read: " + found.unreadable.front().reason};
  std::error_code unknown;
  const std::filesystem::path real = std::filesystem::canonical(root, unknown);
  std::vector<PublishedList> lists;
  for (const ArtifactFolder& folder : found.folders) {
    if (!folder.has_checksums) continue;
    CUBINET_TRY_ASSIGN(const Bytes list, files.read(folder.path / kChecksumsName, kMaximumList));
    const std::string name =
        folder.path == real ? std::string() : folder.path.lexically_relative(real).string();
    lists.push_back({name, sha256(list)});
  }
  if (!lists.empty()) return lists;
  return Error{ErrorCode::invalid_argument,
               "'" + root.string() + "' holds no published folder with a checksums.txt",
               "name such a folder, or one above it: nothing else says what belongs to a mirror"};
}

Result<PublishedMirrorReport> mirror_published(FileServer& source, const std::vector<PublishedList>& lists,
                                               const std::shared_ptr<FileSystem>& files,
                                               const std::filesystem::path& destination,
                                               const PublishedMirrorOptions& options) {
  CUBINET_TRY(check_apart(lists));
  CUBINET_TRY_ASSIGN(const MirrorTree tree,
                     MirrorTree::open(files, destination, options.cancelled, options.log));
  PublishedMirrorReport report;
  for (const PublishedList& list : lists) {
    FolderMirror mirror(source, tree, options, list);
    CUBINET_TRY_ASSIGN(const bool complete, mirror.run());
    report.folders.push_back(mirror.take());
    report.interrupted = !complete;
    if (!complete) break;
  }
  return report;
}

}  // namespace cubinet
