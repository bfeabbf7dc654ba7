// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device_library.hpp"
#include "nvjitlink_api.hpp"

#include <cubinet/jit/compiler.hpp>

#include <mutex>
#include <optional>

namespace cubinet {

// The linker of this compiler and the device libraries in their folders. Thread-safe.
class LinkerInputs {
 public:
  LinkerInputs(CompilerCandidate compiler, CompilerSearch search)
      : compiler_(std::move(compiler)), search_(std::move(search)) {}

  // Return the linker and its loaded library. Successes are cached; a missing linker is searched
  // again.
  Result<LinkerCandidate> linker();
  Result<std::shared_ptr<const NvJitLinkApi>> load();
  // Returns the linker if it is of the compiler's release. The first answer is kept, because
  // fingerprints depend on it.
  Result<LinkerCandidate> linker_of_same_release();

  // Returns the libraries to link with.
  Result<DeviceLibraries> libraries(const KernelTemplate& kernel_template,
                                    const CompileOptions& options) const;
  // Returns the digest of the libraries' current contents.
  Result<Sha256Digest> libraries_digest(const KernelTemplate& kernel_template, const CompileOptions& options);

  // Returns the digest of a linked build's inputs. `sources` are the digests of its texts.
  Result<Sha256Digest> linked_digest(const KernelTemplate& kernel_template,
                                     const std::vector<std::shared_ptr<const IncludeClosure>>& sources,
                                     const Sha256Digest& libraries);

 private:
  std::vector<std::string> folders_of(const KernelTemplate& kernel_template,
                                      const CompileOptions& options) const;

  const CompilerCandidate compiler_;
  const CompilerSearch search_;
  std::mutex mutex_;
  std::optional<LinkerCandidate> linker_;  // guarded by mutex_, as the next two
  std::optional<Result<LinkerCandidate>> of_same_release_;
  std::shared_ptr<const NvJitLinkApi> loaded_;
  DeviceLibraryCache libraries_;
};

}  // namespace cubinet
