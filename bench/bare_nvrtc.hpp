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
  std::map<std::string, std::string, std::less<>> headers;  // by the name that the source includes
  std::vector<std::string> options;
};

// NVRTC with nothing around it: what cubinet's compilation is compared with.
class BareNvrtc {
 public:
  static Result<BareNvrtc> open(const std::filesystem::path& library);
  // From nvrtcCreateProgram to the cubin in memory. compile_failed holds the log.
  Result<Bytes> compile(const BareProgram& program) const;

 private:
  struct Api;
  std::shared_ptr<const Api> api_;
};

}  // namespace cubinet::bench
