// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>
#include <cubinet/spec/cubin.hpp>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace cubinet::nvcc {

// The notes in the folder `nvcc` of a home: the lines that cubinet-nvcc passed to nvcc, and the
// builds that NVRTC refused and nvcc made. They may be removed at any time.
class HomeNotes {
 public:
  // `home` is a home that was opened for writing; empty: nothing is kept.
  explicit HomeNotes(const std::string& home);

  // Returns why NVRTC refused this build, if that is known. The fingerprint covers the source, the
  // headers, the flags and NVRTC, so the note has no effect once one of them changes.
  std::optional<std::string> refusal(const BuildFingerprint& fingerprint) const;
  Result<void> add_refusal(const BuildFingerprint& fingerprint, const std::string& reason) const;

  // Counts a line that was passed to nvcc. The list ends at 1 MiB.
  Result<void> count(const std::string& reason) const;
  // Returns the number of lines for each reason.
  Result<std::map<std::string, std::uint64_t>> counts() const;

 private:
  std::filesystem::path folder_;  // empty: nothing is kept
};

}  // namespace cubinet::nvcc
