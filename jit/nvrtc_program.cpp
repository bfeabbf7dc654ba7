// SPDX-License-Identifier: Apache-2.0
#include "nvrtc_program.hpp"

#include <utility>

namespace cubinet {

Error nvrtc_error(const NvrtcApi& api, nvrtcResult result, const std::string& doing) {
  Error error{ErrorCode::internal, "NVRTC failed while " + doing + ": " + api.nvrtcGetErrorString(result)};
  error.native = result;
  if (result == NVRTC_ERROR_OUT_OF_MEMORY) {
    error.code = ErrorCode::unavailable;
    error.remedy = "free some memory, or compile fewer kernels at once";
  }
  if (result == NVRTC_ERROR_BUILTIN_OPERATION_FAILURE) {
    error.code = ErrorCode::unavailable;
    error.remedy = "libnvrtc-builtins of the same release has to lie beside libnvrtc: install NVRTC again";
  }
  return error;
}

Result<NvrtcProgram> NvrtcProgram::create(const NvrtcApi& api, const std::string& source,
                                          const std::string& name, const std::vector<HeaderView>& headers) {
  std::vector<const char*> names;
  std::vector<const char*> contents;
  for (const HeaderView& header : headers) {
    names.push_back(header.name);
    contents.push_back(header.content);
  }
  nvrtcProgram handle = nullptr;
  const nvrtcResult result = api.nvrtcCreateProgram(
      &handle, source.c_str(), name.c_str(), static_cast<int>(headers.size()), contents.data(), names.data());
  if (result != NVRTC_SUCCESS) return nvrtc_error(api, result, "taking the source of " + name);
  return NvrtcProgram(api, handle);
}

NvrtcProgram::NvrtcProgram(NvrtcProgram&& other) noexcept
    : api_(other.api_), handle_(std::exchange(other.handle_, nullptr)) {}

NvrtcProgram::~NvrtcProgram() {
  if (handle_ != nullptr) api_->nvrtcDestroyProgram(&handle_);
}

Result<void> NvrtcProgram::add_name_expression(const std::string& expression) {
  const nvrtcResult result = api_->nvrtcAddNameExpression(handle_, expression.c_str());
  if (result != NVRTC_SUCCESS) return nvrtc_error(*api_, result, "taking the name '" + expression + "'");
  return {};
}

nvrtcResult NvrtcProgram::compile(const std::vector<std::string>& flags) {
  std::vector<const char*> pointers;
  pointers.reserve(flags.size());
  for (const std::string& flag : flags)
    pointers.push_back(flag.c_str());
  return api_->nvrtcCompileProgram(handle_, static_cast<int>(pointers.size()), pointers.data());
}

std::string NvrtcProgram::log() const {
  std::size_t size = 0;
  if (api_->nvrtcGetProgramLogSize(handle_, &size) != NVRTC_SUCCESS || size <= 1) return {};
  std::string text(size, '\0');
  if (api_->nvrtcGetProgramLog(handle_, text.data()) != NVRTC_SUCCESS) return {};
  const std::size_t last = text.find_last_not_of(std::string_view(" \n\0", 3));
  text.resize(last == std::string::npos ? 0 : last + 1);
  return text;
}

Result<Bytes> NvrtcProgram::cubin() const {
  std::size_t size = 0;
  nvrtcResult result = api_->nvrtcGetCUBINSize(handle_, &size);
  Bytes image(size);
  if (result == NVRTC_SUCCESS) {
    result = api_->nvrtcGetCUBIN(handle_, static_cast<char*>(static_cast<void*>(image.data())));
  }
  if (result != NVRTC_SUCCESS) return nvrtc_error(*api_, result, "handing out the cubin");
  return image;
}

Result<Bytes> NvrtcProgram::ptx() const {
  std::size_t size = 0;
  nvrtcResult result = api_->nvrtcGetPTXSize(handle_, &size);
  Bytes image(size);
  if (result == NVRTC_SUCCESS) {
    result = api_->nvrtcGetPTX(handle_, static_cast<char*>(static_cast<void*>(image.data())));
  }
  if (result != NVRTC_SUCCESS) return nvrtc_error(*api_, result, "handing out the PTX");
  return image;
}

Result<std::string> NvrtcProgram::lowered_name(const std::string& expression) const {
  const char* name = nullptr;
  const nvrtcResult result = api_->nvrtcGetLoweredName(handle_, expression.c_str(), &name);
  if (result != NVRTC_SUCCESS || name == nullptr) {
    return nvrtc_error(*api_, result, "telling the symbol of '" + expression + "'");
  }
  return std::string(name);
}

}  // namespace cubinet
