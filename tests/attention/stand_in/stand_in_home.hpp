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
// The cubin of a row's kernel.
Result<Bytes> compile_stand_in(const NvrtcApi& nvrtc, const KernelRow& row);

// A home that imported a folder of the stand-in's kernels, made like a published one: their cubins,
// a metadata header and the list of both. No user can have this done: only known headers name a
// layout of arguments, and the layout of these rows is set between the import's checks and the
// home.
class StandInHome {
 public:
  // In an empty folder, which has to stay. Rows of one function are one.
  static Result<StandInHome> create(const std::filesystem::path& folder, std::vector<KernelRow> rows,
                                    const CompilerSearch& search);

  const std::shared_ptr<Runtime>& runtime() const { return runtime_; }
  const ArtifactCounts& imported() const { return imported_; }
  // What a Runtime finds of these rows for a device of 9.0, by their functions.
  Result<AvailableKernels> kernels(const std::vector<KernelRow>& rows) const;

 private:
  StandInHome() = default;

  ArtifactCounts imported_;
  std::shared_ptr<Runtime> runtime_;
};

}  // namespace test
}  // namespace cubinet
