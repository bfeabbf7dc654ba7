// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nvrtc_api.hpp"

#include <cubinet/base/bytes.hpp>

#include <string>
#include <vector>

namespace cubinet {

// One header handed to NVRTC in memory. Does not own its texts.
struct HeaderView {
  const char* name;
  const char* content;
};

// An nvrtcProgram. Owns the handle; the log and the image are read after compile().
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
  // The compiler's verdict as a value: what it means depends on what was compiled. The actions of SIGINT,
  // SIGTERM and SIGXFSZ are afterwards what they were before; see Compiler for the moment between.
  nvrtcResult compile(const std::vector<std::string>& flags);
  std::string log() const;  // without trailing white space
  Result<Bytes> cubin() const;
  Result<Bytes> ptx() const;     // with its terminating NUL, which the driver wants
  Result<Bytes> lto_ir() const;  // of what was compiled for optimisation when it is linked
  Result<std::string> lowered_name(const std::string& expression) const;

 private:
  using SizeGetter = decltype(&::nvrtcGetCUBINSize);
  using ContentGetter = decltype(&::nvrtcGetCUBIN);
  Result<Bytes> product(SizeGetter size_of, ContentGetter content_of, const char* name) const;

  NvrtcProgram(const NvrtcApi& api, nvrtcProgram handle) : api_(&api), handle_(handle) {}

  const NvrtcApi* api_;
  nvrtcProgram handle_;
};

// An unexpected answer of NVRTC: its name and number, and what was being done.
Error nvrtc_error(const NvrtcApi& api, nvrtcResult result, const std::string& doing);

}  // namespace cubinet
