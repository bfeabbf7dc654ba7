// SPDX-License-Identifier: Apache-2.0
#include "folder_plan.hpp"

#include <cubinet/artifacts/checksums.hpp>
#include <cubinet/base/sha256_hasher.hpp>
#include <cubinet/kernel_table/metadata_header.hpp>
#include <cubinet/kernel_table/published_header.hpp>

#include <algorithm>
#include <unordered_map>

namespace cubinet {
namespace {

constexpr std::string_view kCubinEnding = ".cubin";

class Planner {
 public:
  Planner(const ArtifactFolder& folder, FindingSink& findings, FindList find_list)
      : folder_(folder), findings_(findings), find_list_(find_list) {}

  FolderPlan run() {
    read_list();
    for (const std::string& name : folder_.cubins)
      file(name).present = true;
    for (ChecksumEntry& entry : list_)
      file(entry.name).listed = entry.digest;
    for (const std::string& name : folder_.headers)
      read_header(name);
    for (const std::string& name : folder_.lock_files)
      findings_.add(ArtifactFindingKind::ignored, name, "it is a lock file");
    assign_rows();
    drop_other_files();
    plan_.bare = !folder_.has_checksums && folder_.headers.empty();
    plan_.pin = pin();
    std::sort(plan_.files.begin(), plan_.files.end(),
              [](const PlannedFile& a, const PlannedFile& b) { return a.name < b.name; });
    return std::move(plan_);
  }

 private:
  // Returns the digest of the header, of all headers if there are several, or of the list if there
  // is none.
  std::string pin() const {
    if (headers_.size() == 1) return headers_.front().to_hex();
    if (headers_.empty()) return list_digest_ ? list_digest_->to_hex() : std::string();
    Sha256Hasher hasher;
    for (const Sha256Digest& digest : headers_)
      hasher.field("header", as_text(ByteView(digest.bytes)));
    return hasher.finish().to_hex();
  }

  PlannedFile& file(const std::string& name) {
    const auto [place, is_new] = numbers_.emplace(name, plan_.files.size());
    if (is_new) {
      PlannedFile& added = plan_.files.emplace_back();
      added.name = name;
      added.is_cubin = name.ends_with(kCubinEnding);
    }
    return plan_.files[place->second];
  }

  const PlannedFile* find(const std::string& name) const {
    const auto found = numbers_.find(name);
    return found == numbers_.end() ? nullptr : &plan_.files[found->second];
  }

  void damaged(const std::string& name, std::string reason) {
    findings_.add(ArtifactFindingKind::damaged, name, std::move(reason));
  }

  void unread(const std::string& name, const Error& error) {
    if (says_nothing(error)) plan_.unread.push_back(name);
    damaged(name, error.message);
  }

  // Reads the list. If it cannot be read, only the digests of rows remain.
  void read_list() {
    if (!folder_.has_checksums) return;
    const auto content = reader_.read(folder_.path / kChecksumsName);
    if (!content) return unread(kChecksumsName, content.error());
    auto entries = read_checksums(as_text(content->bytes));
    if (!entries) return damaged(kChecksumsName, entries.error().message);
    list_ = *std::move(entries);
    list_digest_ = sha256(content->bytes);
  }

  // Reads the rows of a header, even if its digest differs from the list: each row is checked
  // against the list, the bytes and its own name.
  void read_header(const std::string& name) {
    const auto content = reader_.read(folder_.path / name);
    if (!content) {
      plan_.lost_headers.push_back(name);
      return unread(name, content.error());
    }
    const Sha256Digest digest = sha256(content->bytes);
    const PlannedFile* listed = find(name);
    if (listed != nullptr && listed->listed && *listed->listed != digest) {
      damaged(name, "its SHA-256 is not that of the list");
    }
    auto header = read_metadata_header(as_text(content->bytes));
    if (!header) {
      plan_.lost_headers.push_back(name);
      return damaged(name, header.error().message);
    }
    for (const MetadataProblem& problem : header->problems) {
      findings_.add(ArtifactFindingKind::conflict, name,
                    "the row in line " + std::to_string(problem.line) + " " + problem.reason);
    }
    for (std::size_t i = header->problems.size(); i < header->problem_count; ++i) {
      findings_.add(ArtifactFindingKind::conflict, name, "a further row cannot be read");
    }
    headers_.push_back(digest);
    const PublishedHeader* known = find_published_header(digest);
    // A known list states the digest of a header that no one here has seen.
    if (known == nullptr && list_digest_ && listed != nullptr && listed->listed == digest &&
        !header->rows.empty())
      known = find_list_(*list_digest_);
    if (known != nullptr) {
      plan_.known = known;
      for (KernelRow& row : header->rows)
        row.layout = known->argument_layout;
    }
    std::move(header->rows.begin(), header->rows.end(), std::back_inserter(plan_.rows));
    std::move(header->plain.begin(), header->plain.end(), std::back_inserter(plan_.plain));
  }

  // Returns the file name of a function's cubin: the function's name. GEMM folders capitalise its
  // first letter.
  std::string file_of(const std::string& function) const {
    std::string exact = function + std::string(kCubinEnding);
    if (find(exact) != nullptr) return exact;
    std::string upper = exact;
    if (upper.front() >= 'a' && upper.front() <= 'z') upper.front() = static_cast<char>(upper.front() - 32);
    return find(upper) != nullptr ? upper : exact;
  }

  // Returns nullptr and adds a finding if the name cannot be a file name.
  PlannedFile* file_of_row(const std::string& function) {
    const std::string_view reason =
        function.find('/') != std::string::npos ? "has a slash in its name" : why_not_within(function);
    if (reason.empty()) return &file(file_of(function));
    findings_.add(ArtifactFindingKind::conflict, function,
                  "a row names a function that " + std::string(reason));
    return nullptr;
  }

  void assign_rows() {
    for (std::uint32_t i = 0; i < plan_.rows.size(); ++i) {
      if (PlannedFile* named = file_of_row(plan_.rows[i].function_name)) named->rows.push_back(i);
    }
    for (std::uint32_t i = 0; i < plan_.plain.size(); ++i) {
      if (PlannedFile* named = file_of_row(plan_.plain[i].function_name)) named->plain.push_back(i);
    }
  }

  // Drops listed files that are not cubins. The headers have been read, and other existing files
  // are checked. Rows of a missing header are reported as missing; any other missing file is no
  // loss.
  void drop_other_files() {
    const auto is_settled = [&](PlannedFile& other) {
      if (other.is_cubin) return false;
      if (std::binary_search(folder_.headers.begin(), folder_.headers.end(), other.name)) return true;
      const auto facts = file_facts(folder_.path / other.name);
      other.present = facts || facts.error().code != ErrorCode::not_found;
      if (!other.present && is_metadata_header(other.name)) {
        plan_.lost_headers.push_back(other.name);
        findings_.add(ArtifactFindingKind::missing, other.name, "it is listed and not there");
      } else if (!other.present) {
        findings_.add(ArtifactFindingKind::ignored, other.name, "it is listed, is no cubin and is not there");
      }
      return !other.present;
    };
    std::erase_if(plan_.files, is_settled);
  }

  const ArtifactFolder& folder_;
  FindingSink& findings_;
  FindList find_list_;
  ArtifactReader reader_;
  FolderPlan plan_;
  std::vector<ChecksumEntry> list_;
  std::optional<Sha256Digest> list_digest_;
  std::vector<Sha256Digest> headers_;  // the headers that were read, ascending by name
  std::unordered_map<std::string, std::size_t> numbers_;
};

}  // namespace

FolderPlan plan_folder(const ArtifactFolder& folder, FindingSink& findings, FindList find_list) {
  return Planner(folder, findings, find_list).run();
}

bool says_nothing(const Error& error) {
  return error.code != ErrorCode::not_found && error.code != ErrorCode::invalid_argument;
}

bool is_checked(const FolderPlan& plan, const PlannedFile& file) {
  return file.present && (plan.bare || file.listed || !file.rows.empty() || !file.plain.empty());
}

}  // namespace cubinet
