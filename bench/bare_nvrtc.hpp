// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>
#include <cubinet/base/result.hpp>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace cubinet::bench {

struct BareProgram {
  std::string name;
  std::string source;
  std::map<std::string, std::string, std::less<>> headers;  // by the name in the source's #include
  std::vector<std::string> options;
};

// Bare NVRTC, the baseline of cubinet's compilation.
class BareNvrtc {
 public:
  static Result<BareNvrtc> open(const std::filesystem::path& library);
  // Compiles from nvrtcCreateProgram to the cubin in memory. Returns an error (compile_failed) with
  // the log.
  Result<Bytes> compile(const BareProgram& program) const;

 private:
  struct Api;
  std::shared_ptr<const Api> api_;
};

}  // namespace cubinet::bench
