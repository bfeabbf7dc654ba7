// SPDX-License-Identifier: Apache-2.0
#include "bare_nvrtc.hpp"

#include <cubinet/base/dynamic_library.hpp>

#include <nvrtc.h>

#include <functional>

namespace cubinet::bench {

struct BareNvrtc::Api {
  decltype(&::nvrtcCreateProgram) create_program = nullptr;
  decltype(&::nvrtcCompileProgram) compile_program = nullptr;
  decltype(&::nvrtcGetCUBINSize) get_cubin_size = nullptr;
  decltype(&::nvrtcGetCUBIN) get_cubin = nullptr;
  decltype(&::nvrtcGetProgramLogSize) get_log_size = nullptr;
  decltype(&::nvrtcGetProgramLog) get_log = nullptr;
  decltype(&::nvrtcDestroyProgram) destroy_program = nullptr;
};

namespace {

template <class FunctionPointer>
bool load(const DynamicLibrary& library, const char* name, FunctionPointer& function) {
  function = reinterpret_cast<FunctionPointer>(library.find(name));
  return function != nullptr;
}

Error failed(const char* function, nvrtcResult result) {
  return Error{
      ErrorCode::compile_failed, std::string(function) + " gave " + std::to_string(result), {}, {}, result};
}

}  // namespace

Result<BareNvrtc> BareNvrtc::open(const std::filesystem::path& path) {
  const Result<DynamicLibrary> library = DynamicLibrary::open(path.string());
  if (!library) return library.error();
  const auto api = std::make_shared<Api>();
  const bool complete = load(*library, "nvrtcCreateProgram", api->create_program) &&
                        load(*library, "nvrtcCompileProgram", api->compile_program) &&
                        load(*library, "nvrtcGetCUBINSize", api->get_cubin_size) &&
                        load(*library, "nvrtcGetCUBIN", api->get_cubin) &&
                        load(*library, "nvrtcGetProgramLogSize", api->get_log_size) &&
                        load(*library, "nvrtcGetProgramLog", api->get_log) &&
                        load(*library, "nvrtcDestroyProgram", api->destroy_program);
  if (!complete) return Error{ErrorCode::unsupported, path.string() + " lacks a function of NVRTC"};
  BareNvrtc nvrtc;
  nvrtc.api_ = api;
  return nvrtc;
}

Result<Bytes> BareNvrtc::compile(const BareProgram& program) const {
  std::vector<const char*> names;
  std::vector<const char*> contents;
  std::vector<const char*> options;
  for (const auto& [name, content] : program.headers) {
    names.push_back(name.c_str());
    contents.push_back(content.c_str());
  }
  for (const std::string& option : program.options)
    options.push_back(option.c_str());

  nvrtcProgram handle = nullptr;
  nvrtcResult result = api_->create_program(&handle, program.source.c_str(), program.name.c_str(),
                                            static_cast<int>(names.size()), contents.data(), names.data());
  if (result != NVRTC_SUCCESS) return failed("nvrtcCreateProgram", result);
  const std::unique_ptr<nvrtcProgram, std::function<void(nvrtcProgram*)>> owner(
      &handle, [this](nvrtcProgram* created) { api_->destroy_program(created); });
  result = api_->compile_program(handle, static_cast<int>(options.size()), options.data());
  if (result != NVRTC_SUCCESS) {
    Error error = failed("nvrtcCompileProgram", result);
    std::size_t size = 0;
    if (api_->get_log_size(handle, &size) == NVRTC_SUCCESS && size > 0) {
      error.detail.resize(size);
      api_->get_log(handle, error.detail.data());
    }
    return error;
  }
  std::size_t size = 0;
  result = api_->get_cubin_size(handle, &size);
  if (result != NVRTC_SUCCESS) return failed("nvrtcGetCUBINSize", result);
  Bytes cubin(size);
  result = api_->get_cubin(handle, reinterpret_cast<char*>(cubin.data()));
  if (result != NVRTC_SUCCESS) return failed("nvrtcGetCUBIN", result);
  return cubin;
}

}  // namespace cubinet::bench
