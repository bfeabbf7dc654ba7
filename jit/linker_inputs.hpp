// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device_library.hpp"
#include "nvjitlink_api.hpp"

#include <cubinet/jit/compiler.hpp>

#include <mutex>
#include <optional>

namespace cubinet {

// What a request's compiled sources are linked by and with: this compiler's linker, and device libraries
// where they lie. Thread-safe.
class LinkerInputs {
 public:
  LinkerInputs(CompilerCandidate compiler, CompilerSearch search)
      : compiler_(std::move(compiler)), search_(std::move(search)) {}

  // Found once, and loaded once; what is not there now may be installed later.
  Result<LinkerCandidate> linker();
  Result<std::shared_ptr<const NvJitLinkApi>> load();

  // To link with.
  Result<DeviceLibraries> libraries(const KernelTemplate& kernel_template,
                                    const CompileOptions& options) const;
  // What they are now.
  Result<Sha256Digest> libraries_digest(const KernelTemplate& kernel_template, const CompileOptions& options);

  // Of all that a build is linked from: `sources` are the digests of its texts.
  Result<Sha256Digest> linked_digest(const KernelTemplate& kernel_template,
                                     const std::vector<std::shared_ptr<const IncludeClosure>>& sources,
                                     const Sha256Digest& libraries);

 private:
  std::vector<std::string> folders_of(const KernelTemplate& kernel_template,
                                      const CompileOptions& options) const;

  const CompilerCandidate compiler_;
  const CompilerSearch search_;
  std::mutex mutex_;
  std::optional<LinkerCandidate> linker_;  // guarded by mutex_, as the next
  std::shared_ptr<const NvJitLinkApi> loaded_;
  DeviceLibraryCache libraries_;
};

}  // namespace cubinet
