// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/cubin_registry/bundle.hpp>
#include <cubinet/spec/cubin_code.hpp>

#include <nlohmann/json_fwd.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cubinet {

// Reads the code of a build. Its kernels have the names of the record's entry points. They have an
// additional part `launch`: the threads, dynamic shared memory, argument bytes, cluster and launch
// flags of the record. An image that is not a cubin has one part `image`, its bytes.
Result<CubinCode> code_of_build(const Bundle& bundle, const std::shared_ptr<const CubinRecord>& record);

// The parts in which a kernel differs between two builds. `kernel` is empty for parts of the
// module. `parts` is {"only in first"} or {"only in second"} for a kernel that one of them lacks.
struct CodeDifference {
  std::string kernel;
  std::vector<std::string> parts;
};
// Returns no differences if the two run alike.
std::vector<CodeDifference> compare_code(const CubinCode& first, const CubinCode& second);

// The kernels of two bundles, compared by identity and kind; build fingerprints are ignored. A
// changed kernel is described by its record in the second bundle.
struct CodeComparison {
  CubinRecords same;
  CubinRecords only_in_first;
  CubinRecords only_in_second;
  std::vector<std::pair<std::shared_ptr<const CubinRecord>, std::vector<CodeDifference>>> changed;

  bool equal() const { return only_in_first.empty() && only_in_second.empty() && changed.empty(); }
};
// Reads every image of both bundles. A kernel with several builds is the same if each build of
// either bundle runs like a build of the other one. Returns corruption for a damaged image.
Result<CodeComparison> compare_code(Bundle& first, Bundle& second);

nlohmann::json describe(const std::vector<CodeDifference>& differences);
// Returns "attention_decode: code, resources; module: data".
std::string to_text(const std::vector<CodeDifference>& differences);

}  // namespace cubinet
