// SPDX-License-Identifier: Apache-2.0
#include "judgement.hpp"

#include <cubinet/artifacts/kernel_name.hpp>
#include <cubinet/base/sha256_hasher.hpp>
#include <cubinet/kernel_table/published_header.hpp>
#include <cubinet/kernel_table/row_codec.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

namespace cubinet {
namespace {

// The common part of a row of attention and one of another operation.
struct StatedKernel {
  const std::string& function;
  const Sha256Digest& digest;
  SmTarget target;
};

StatedKernel stated(const KernelRow& row) {
  return {row.function_name, row.digest, row.target};
}
StatedKernel stated(const PlainKernel& kernel) {
  return {kernel.function_name, kernel.digest, kernel.target};
}

auto content_of(const KernelRow& row) {
  return std::tie(row.digest, row.function_name, row.shared_bytes, row.threads);
}

std::string short_hex(const Sha256Digest& digest) {
  return digest.to_hex().substr(0, 16);
}

// Returns the target of a kernel without a row. If the file does not state the suffix, the
// narrowest target is used: the kernel then runs only on the capability that it was built for.
SmTarget own_target(const CubinInspection& inspection) {
  return {inspection.capability.major, inspection.capability.minor,
          inspection.kind.value_or(TargetKind::specific)};
}

class Judge {
 public:
  Judge(const std::filesystem::path& folder, FolderPlan plan, const FolderCheck& check,
        ArtifactCounts& counts)
      : plan_(std::move(plan)), check_(check), counts_(counts), findings_(folder, counts) {
    import_.folder = folder.native();
  }

  ArtifactImport run() {
    for (std::size_t i = 0; i < plan_.files.size(); ++i) {
      if (judge_file(plan_.files[i], check_.files[i])) taken_.push_back(i);
    }
    resolve_rows();
    resolve_plain();
    take_files();
    pin();
    count();
    return std::move(import_);
  }

 private:
  void add(ArtifactFindingKind kind, const std::string& name, std::string reason) {
    findings_.add(kind, name, std::move(reason));
  }
  void conflict(const std::string& name, std::string reason) {
    add(ArtifactFindingKind::conflict, name, std::move(reason));
  }
  bool damaged(const std::string& name, std::string reason) {
    add(ArtifactFindingKind::damaged, name, std::move(reason));
    return false;
  }

  // Returns whether some kernel of the file is taken.
  bool judge_file(const PlannedFile& file, const FileCheck& check) {
    const bool is_named = file.listed || !file.rows.empty() || !file.plain.empty();
    if (check.read) ++counts_.read;
    // The file may have been removed since the folder was listed, or be a dangling link.
    const bool has_gone = check.error && check.error->code == ErrorCode::not_found;
    if (!file.present || (has_gone && is_named)) {
      judge_absent(file);
      return false;
    }
    if (!is_checked(plan_, file)) {
      add(ArtifactFindingKind::extra, file.name, "neither a list nor a row names it");
      return false;
    }
    if (check.error) return damaged(file.name, check.error->message);
    if (!digest_holds(file, check.file.digest)) return false;
    if (!file.is_cubin) return false;
    if (check.not_cubin) return damaged(file.name, check.not_cubin->message);
    if (file.rows.empty() && file.plain.empty()) return take_unnamed(file, check);
    return take_kernels(file, check);
  }

  bool take_kernels(const PlannedFile& file, const FileCheck& check) {
    bool taken = false;
    for (const std::uint32_t number : file.rows) {
      KernelRow& row = plan_.rows[number];
      if (!agrees(file, check, row) || !name_agrees(file, row)) continue;
      if (!argument_agrees(file, check, row)) row.layout.clear();
      import_.rows.push_back(std::move(row));
      taken = true;
    }
    for (const std::uint32_t number : file.plain) {
      PlainKernel& kernel = plan_.plain[number];
      if (!agrees(file, check, kernel)) continue;
      plain_.push_back({std::move(kernel), file.name});
      taken = true;
    }
    return taken;
  }

  // Records a missing file. A row whose digest is that of another file has a wrong name, so its own
  // file is missing.
  void judge_absent(const PlannedFile& file) {
    bool is_missing = file.listed.has_value();
    const auto judge_row = [&](const Sha256Digest& digest) {
      const std::string_view other = file.listed ? std::string_view() : name_of(digest);
      is_missing = is_missing || other.empty();
      if (!other.empty()) conflict(file.name, "its row has the digest of '" + std::string(other) + "'");
    };
    for (const std::uint32_t number : file.rows) {
      const KernelRow& row = plan_.rows[number];
      judge_row(row.digest);
      name_agrees(file, row);
    }
    for (const std::uint32_t number : file.plain)
      judge_row(plan_.plain[number].digest);
    if (is_missing) {
      add(ArtifactFindingKind::missing, file.name,
          file.listed ? "it is listed and not there" : "a row names it and it is not there");
    }
  }

  // Returns the file with this digest in the list, or an empty string.
  std::string_view name_of(const Sha256Digest& digest) {
    if (names_.empty()) {
      for (const PlannedFile& file : plan_.files) {
        if (file.listed) names_.emplace(*file.listed, file.name);
      }
    }
    const auto found = names_.find(digest);
    return found == names_.end() ? std::string_view() : found->second;
  }

  // Returns whether the digest equals those in the list and in the rows.
  bool digest_holds(const PlannedFile& file, const Sha256Digest& digest) {
    std::size_t stating = 0;
    std::size_t agreeing = 0;
    const auto hear = [&](const Sha256Digest& stated_digest) {
      ++stating;
      if (stated_digest == digest) ++agreeing;
      if (file.listed && stated_digest != *file.listed) {
        conflict(file.name, "its row has the SHA-256 " + short_hex(stated_digest) + ", the list " +
                                short_hex(*file.listed));
      }
    };
    for (const std::uint32_t number : file.rows)
      hear(plan_.rows[number].digest);
    for (const std::uint32_t number : file.plain)
      hear(plan_.plain[number].digest);
    const bool as_listed = !file.listed || *file.listed == digest;
    if (as_listed && (stating == 0 || agreeing > 0)) return true;
    return damaged(file.name, "its SHA-256 is " + short_hex(digest) + ", not that of the " +
                                  (as_listed ? "row" : "list"));
  }

  template <class Kernel>
  bool agrees(const PlannedFile& file, const FileCheck& check, const Kernel& kernel) {
    const StatedKernel claim = stated(kernel);
    const CubinInspection& inspection = check.file.inspection;
    if (claim.digest != check.file.digest) {
      // With a list, this has been reported already.
      if (!file.listed) conflict(file.name, "two rows of it have different digests");
      return false;
    }
    if (contradicts(inspection, claim.target)) {
      conflict(file.name,
               "its row says " + claim.target.to_string() + ", its ELF " + inspection.target_name());
      return false;
    }
    const auto& kernels = inspection.kernels;
    if (std::find(kernels.begin(), kernels.end(), claim.function) == kernels.end()) {
      conflict(file.name, "it holds no function '" + claim.function + "'");
      return false;
    }
    return true;
  }

  bool name_agrees(const PlannedFile& file, const KernelRow& row) {
    NameCheck checked = check_kernel_name(row);
    if (!checked.understood) ++counts_.unchecked_names;
    if (!checked.contradiction) return true;
    conflict(file.name, *std::move(checked.contradiction));
    return false;
  }

  // Returns whether the kernel's argument has the size that the kernels of its header have. A
  // kernel that differs is imported without a layout, so it is never launched.
  bool argument_agrees(const PlannedFile& file, const FileCheck& check, const KernelRow& row) {
    const PublishedHeader* header = plan_.known;
    if (header == nullptr) return true;
    const CubinInspection& inspection = check.file.inspection;
    const auto found = std::find(inspection.kernels.begin(), inspection.kernels.end(), row.function_name);
    const std::uint32_t bytes =
        inspection.argument_bytes[static_cast<std::size_t>(found - inspection.kernels.begin())];
    if (bytes == 0 || bytes == header->argument_bytes) return true;
    conflict(file.name, "its kernel takes an argument of " + std::to_string(bytes) + " bytes, those of " +
                            std::string(header->publisher) + " take " +
                            std::to_string(header->argument_bytes) + ": it is in, and never launched");
    return false;
  }

  // Takes a cubin without a row. It is found by the names of its functions.
  bool take_unnamed(const PlannedFile& file, const FileCheck& check) {
    const auto& kernels = check.file.inspection.kernels;
    if (kernels.empty()) return damaged(file.name, "it holds no kernel");
    if (std::find(kernels.begin(), kernels.end(), std::string()) != kernels.end())
      return damaged(file.name, "it holds a kernel without a name");
    // A symbol table may contain a name several times.
    for (const std::string& function : std::set<std::string>(kernels.begin(), kernels.end())) {
      plain_.push_back({{function, 0, 0, own_target(check.file.inspection), check.file.digest}, file.name});
    }
    return true;
  }

  // Merges rows of one identity, including the target, if their bytes and launch properties are
  // equal. If they differ, all are refused, because none is known to be right. The result and the
  // findings depend on the set of rows only, not on their order.
  void resolve_rows() {
    std::map<Bytes, std::vector<KernelRow>> groups;
    for (KernelRow& row : import_.rows)
      groups[identify(row).encoding()].push_back(std::move(row));
    import_.rows.clear();
    for (auto& [identity, group] : groups) {
      std::sort(group.begin(), group.end(),
                [](const KernelRow& a, const KernelRow& b) { return content_of(a) < content_of(b); });
      if (content_of(group.front()) == content_of(group.back())) {
        import_.rows.push_back(std::move(group.front()));
      } else {
        refuse_rows(group);
      }
    }
  }

  void refuse_rows(const std::vector<KernelRow>& group) {
    std::string reason = "no rule decides between rows of one kernel, all are refused";
    const char* separator = ": ";
    for (const KernelRow& row : group) {
      reason += separator + row.function_name + " (sha256 " + short_hex(row.digest) + ")";
      separator = ", ";
    }
    for (const KernelRow& row : group)
      conflict(row.function_name + ".cubin", reason);
  }

  // Makes lookup by name independent of the order of files. Each function and target has one
  // kernel, or none if two disagree. A kernel known only from an ELF is dropped if a header
  // describes one with the same bytes.
  void resolve_plain() {
    std::map<std::pair<std::string_view, std::string>, std::vector<const FoundKernel*>> groups;
    for (const FoundKernel& found : plain_)
      groups[{found.kernel.function_name, found.kernel.target.to_string()}].push_back(&found);
    std::set<const FoundKernel*> refused;
    for (const auto& [name, group] : groups) {
      const FoundKernel* described = *std::max_element(
          group.begin(), group.end(),
          [](const auto* a, const auto* b) { return !is_described(*a) && is_described(*b); });
      const auto disagrees = [&](const FoundKernel* a, const FoundKernel* b) {
        return a->kernel != b->kernel &&
               (a->kernel.digest != b->kernel.digest || (is_described(*a) && is_described(*b)));
      };
      const bool disputed = std::any_of(group.begin(), group.end(),
                                        [&](const auto* each) { return disagrees(each, described); });
      for (const FoundKernel* each : group) {
        if (disputed || each != described) refused.insert(each);
        if (!disputed) continue;
        const auto other =
            std::find_if(group.begin(), group.end(), [&](const auto* o) { return disagrees(each, o); });
        conflict(each->file, "its function '" + each->kernel.function_name + "' for " + name.second +
                                 " is in '" + (other == group.end() ? described : *other)->file +
                                 "' too and differs: neither is found by name");
      }
    }
    for (FoundKernel& found : plain_) {
      if (!refused.contains(&found)) import_.plain.push_back(std::move(found.kernel));
    }
  }

  // Drops files whose rows were all refused later.
  void take_files() {
    std::set<Sha256Digest> used;
    for (const KernelRow& row : import_.rows)
      used.insert(row.digest);
    for (const PlainKernel& kernel : import_.plain)
      used.insert(kernel.digest);
    for (const std::size_t number : taken_) {
      const FileCheck& check = check_.files[number];
      if (!used.contains(check.file.digest)) continue;
      import_.files.push_back({check.file.name, check.file.digest, check.file.size});
      ++counts_.elf_targets[check.file.inspection.target_name()];
      counts_.bytes += check.file.size;
    }
  }

  // Sets the pin. A folder without metadata is identified by its content.
  void pin() {
    if (plan_.known != nullptr) import_.version = plan_.known->publisher;
    import_.pin = plan_.pin;
    if (import_.pin.empty()) {
      Sha256Hasher hasher;
      for (const ArtifactFile& file : import_.files) {
        hasher.field("name", file.name);
        hasher.field("digest", as_text(ByteView(file.digest.bytes)));
      }
      import_.pin = hasher.finish().to_hex();
    }
    for (KernelRow& row : import_.rows)
      row.pin = import_.pin;
  }

  void count() {
    counts_.rows = import_.rows.size();
    counts_.plain = import_.plain.size();
    counts_.cubins = import_.files.size();
    for (const KernelRow& row : import_.rows)
      ++counts_.targets[row.target.to_string()];
  }

  struct FoundKernel {
    PlainKernel kernel;
    std::string file;
  };
  static bool is_described(const FoundKernel& found) {
    return found.kernel.threads != 0 || found.kernel.shared_bytes != 0;
  }

  FolderPlan plan_;
  const FolderCheck& check_;
  ArtifactCounts& counts_;
  FindingSink findings_;
  std::map<Sha256Digest, std::string_view> names_;  // files of the list by digest
  std::vector<FoundKernel> plain_;
  std::vector<std::size_t> taken_;  // indices of the plan's files
  ArtifactImport import_;
};

}  // namespace

ArtifactImport judge(const std::filesystem::path& folder, FolderPlan plan, const FolderCheck& check,
                     ArtifactCounts& counts) {
  return Judge(folder, std::move(plan), check, counts).run();
}

}  // namespace cubinet
