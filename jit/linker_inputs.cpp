// SPDX-License-Identifier: Apache-2.0
#include "linker_inputs.hpp"

#include "compiler_identity.hpp"
#include "compiler_search.hpp"
#include "exit_gate.hpp"
#include "linker_search.hpp"

#include <cubinet/base/sha256_hasher.hpp>

namespace cubinet {

Result<LinkerCandidate> LinkerInputs::linker() {
  const std::lock_guard lock(mutex_);
  if (!linker_) {
    CUBINET_TRY_ASSIGN(linker_, find_linker(compiler_, search_));
  }
  return *linker_;
}

Result<std::shared_ptr<const NvJitLinkApi>> LinkerInputs::load() {
  CUBINET_TRY_ASSIGN(const LinkerCandidate candidate, linker());
  const std::lock_guard lock(mutex_);
  if (loaded_ != nullptr) return loaded_;
  const auto version = linker_version(candidate.library);
  CUBINET_TRY_ASSIGN(auto api, NvJitLinkApi::open(candidate.library, version.value_or(NvrtcVersion{})));
  close_gate_before_destructors_of(api->library());
  CUBINET_TRY_ASSIGN(const std::string build, build_of_loaded(api->library()));
  // Fingerprints contain the linker whose file was read by the search.
  if (!candidate.identity.ends_with(" " + build)) {
    return Error{ErrorCode::unavailable,
                 "'" + candidate.library + "' was " + candidate.identity +
                     " when it was looked for, and what is loaded now is build " + build,
                 "start the process again: nvJitLink was replaced while it ran"};
  }
  loaded_ = std::move(api);
  return loaded_;
}

Result<LinkerCandidate> LinkerInputs::linker_of_same_release() {
  {
    const std::lock_guard lock(mutex_);
    if (of_same_release_) return *of_same_release_;
  }
  Result<LinkerCandidate> found = linker();
  const auto needed = version_by_file_name(compiler_);
  if (found && (!needed || linker_version(found->library) != needed)) {
    found = Error{ErrorCode::unavailable,
                  "'" + found->library + "', " + found->identity + ", is not of the release of this NVRTC"};
  }
  const std::lock_guard lock(mutex_);
  if (!of_same_release_) of_same_release_ = std::move(found);
  return *of_same_release_;
}

Result<DeviceLibraries> LinkerInputs::libraries(const KernelTemplate& kernel_template,
                                                const CompileOptions& options) const {
  return find_device_libraries(kernel_template.libraries(), folders_of(kernel_template, options));
}

Result<Sha256Digest> LinkerInputs::libraries_digest(const KernelTemplate& kernel_template,
                                                    const CompileOptions& options) {
  return libraries_.digest(kernel_template.libraries(), folders_of(kernel_template, options));
}

Result<Sha256Digest> LinkerInputs::linked_digest(
    const KernelTemplate& kernel_template, const std::vector<std::shared_ptr<const IncludeClosure>>& sources,
    const Sha256Digest& libraries) {
  CUBINET_TRY_ASSIGN(const LinkerCandidate used, linker());
  Sha256Hasher hasher;
  hasher.field("source", as_text(sources[0]->digest.bytes));
  for (std::size_t i = 1; i < sources.size(); ++i) {
    hasher.field("linked", kernel_template.linked_sources()[i - 1]->name());
    hasher.field("source", as_text(sources[i]->digest.bytes));
  }
  hasher.field("libraries", as_text(libraries.bytes));
  hasher.field("linker", used.identity);
  return hasher.finish();
}

std::vector<std::string> LinkerInputs::folders_of(const KernelTemplate& kernel_template,
                                                  const CompileOptions& options) const {
  std::vector<std::string> folders = options.library_directories;
  if (!kernel_template.folder().empty()) folders.push_back(kernel_template.folder());
  const std::vector<std::string> own = library_folders(compiler_);
  folders.insert(folders.end(), own.begin(), own.end());
  return folders;
}

}  // namespace cubinet
