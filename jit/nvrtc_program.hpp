// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nvrtc_api.hpp"

#include <cubinet/base/bytes.hpp>

#include <string>
#include <vector>

namespace cubinet {

// A header in memory for NVRTC. Does not own its texts.
struct HeaderView {
  const char* name;
  const char* content;
};

// An nvrtcProgram. Owns the handle. The log and the image are available after compile().
class NvrtcProgram {
 public:
  static Result<NvrtcProgram> create(const NvrtcApi& api, const std::string& source, const std::string& name,
                                     const std::vector<HeaderView>& headers);

  NvrtcProgram(NvrtcProgram&& other) noexcept;
  NvrtcProgram(const NvrtcProgram&) = delete;
  NvrtcProgram& operator=(const NvrtcProgram&) = delete;
  NvrtcProgram& operator=(NvrtcProgram&&) = delete;
  ~NvrtcProgram();

  Result<void> add_name_expression(const std::string& expression);
  // Compiles and returns NVRTC's result, which the caller interprets. Restores the actions of
  // SIGINT, SIGTERM and SIGXFSZ afterwards (see Compiler for the time between).
  nvrtcResult compile(const std::vector<std::string>& flags);
  std::string log() const;  // without trailing white space
  Result<Bytes> cubin() const;
  Result<Bytes> ptx() const;     // with the terminating NUL that the driver needs
  Result<Bytes> lto_ir() const;  // of code that is optimised at link time
  Result<std::string> lowered_name(const std::string& expression) const;

 private:
  using SizeGetter = decltype(&::nvrtcGetCUBINSize);
  using ContentGetter = decltype(&::nvrtcGetCUBIN);
  Result<Bytes> product(SizeGetter size_of, ContentGetter content_of, const char* name) const;

  NvrtcProgram(const NvrtcApi& api, nvrtcProgram handle) : api_(&api), handle_(handle) {}

  const NvrtcApi* api_;
  nvrtcProgram handle_;
};

// Returns an error for an unexpected result of NVRTC, with its name and number and the operation.
Error nvrtc_error(const NvrtcApi& api, nvrtcResult result, const std::string& doing);

}  // namespace cubinet
