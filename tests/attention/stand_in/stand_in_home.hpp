// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/artifacts/artifact_import.hpp>
#include <cubinet/attention/operation.hpp>
#include <cubinet/base/bytes.hpp>
#include <cubinet/jit/compile_options.hpp>
#include <cubinet/kernel_table/kernel_row.hpp>
#include <cubinet/runtime.hpp>

#include <filesystem>
#include <memory>
#include <vector>

namespace cubinet {

class NvrtcApi;

namespace test {

Result<std::shared_ptr<const NvrtcApi>> open_nvrtc(const CompilerSearch& search);
// Returns the cubin of a row's kernel.
Result<Bytes> compile_stand_in(const NvrtcApi& nvrtc, const KernelRow& row);

// A home that imported a folder of stand-in kernels. The folder is made like a published one:
// cubins, a metadata header and the list of both. Users cannot import such a folder, because only
// known headers name an argument layout. The fixture sets the layout of these rows between the
// import's checks and the home.
class StandInHome {
 public:
  // Creates the home in an empty folder, which must outlive it. Rows of the same function count
  // once.
  static Result<StandInHome> create(const std::filesystem::path& folder, std::vector<KernelRow> rows,
                                    const CompilerSearch& search);

  const std::shared_ptr<Runtime>& runtime() const { return runtime_; }
  const ArtifactCounts& imported() const { return imported_; }
  // Returns the kernels that a Runtime finds for these rows on a device of 9.0, by function.
  Result<AvailableKernels> kernels(const std::vector<KernelRow>& rows) const;

 private:
  StandInHome() = default;

  ArtifactCounts imported_;
  std::shared_ptr<Runtime> runtime_;
};

}  // namespace test
}  // namespace cubinet
