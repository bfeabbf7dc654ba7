// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/temp_dir.hpp"

#include <cubinet/artifacts/artifact_import.hpp>
#include <cubinet/attention/operation.hpp>
#include <cubinet/base/bytes.hpp>
#include <cubinet/kernel_table/kernel_row.hpp>
#include <cubinet/runtime.hpp>

#include <memory>
#include <vector>

namespace cubinet::test {

// The cubin of a row's kernel, by NVRTC.
Bytes compile_stand_in(const KernelRow& row);

// A home that imported a folder of the stand-in's kernels, made like a published one: their cubins, a
// metadata header and the list of both. No user can have this done: only known headers name a layout of
// arguments, and the layout of these rows is set between the import's checks and the home.
class StandInHome {
 public:
  // Rows of one function are one.
  explicit StandInHome(std::vector<KernelRow> rows);

  const std::shared_ptr<Runtime>& runtime() const { return runtime_; }
  const ArtifactCounts& imported() const { return imported_; }
  // What a Runtime finds of these rows for a device of 9.0, by their functions.
  AvailableKernels kernels(const std::vector<KernelRow>& rows) const;

 private:
  TempDir folder_;
  ArtifactCounts imported_;
  std::shared_ptr<Runtime> runtime_;
};

}  // namespace cubinet::test
