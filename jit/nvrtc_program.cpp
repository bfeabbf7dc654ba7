// SPDX-License-Identifier: Apache-2.0
#include "nvrtc_program.hpp"

#include <algorithm>
#include <dlfcn.h>
#include <mutex>
#include <signal.h>
#include <utility>

namespace cubinet {
namespace {

// Returns the base of the library that contains the address; nullptr if none does.
const void* library_of(void* address) {
  Dl_info info = {};
  return address != nullptr && ::dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}

// The program's actions for the signals that NVRTC handles. NVRTC (13.0) installs handlers at the
// first compilation of each copy of the library. They call exit(4) for some milliseconds; then it
// restores the previous handlers with signal(), which drops their flags and masks. If the
// compilation fails, its handlers stay until the next one. The first compilations of two copies may
// overlap, and each may find and restore the handlers of the other. Thread-safe.
class ProgramSignals {
 public:
  // Called before a compilation that may change them. While others run, an action may be the result
  // of their signal(): its flags are not the program's.
  void note(const NvrtcApi& api) {
    const std::lock_guard lock(mutex_);
    const void* library = library_of(reinterpret_cast<void*>(api.nvrtcCompileProgram));
    if (std::find(libraries_.begin(), libraries_.end(), library) == libraries_.end())
      libraries_.push_back(library);
    for (Kept& kept : kept_) {
      struct sigaction now = {};
      if (::sigaction(kept.signal, nullptr, &now) != 0 || is_nvrtcs(now)) continue;
      if (running_ > 0 && kept.was_put_back(now)) continue;
      kept.valid = true;
      kept.action = now;
    }
    ++running_;
  }

  // Called after it. An action that is neither NVRTC's nor the result of signal() was set by the
  // program meanwhile and stays.
  void restore() {
    const std::lock_guard lock(mutex_);
    --running_;
    for (const Kept& kept : kept_) {
      struct sigaction now = {};
      if (!kept.valid || ::sigaction(kept.signal, nullptr, &now) != 0) continue;
      if (kept.was_put_back(now) || is_nvrtcs(now)) ::sigaction(kept.signal, &kept.action, nullptr);
    }
  }

 private:
  // sa_handler and sa_sigaction share their storage, so either can be read.
  static void* handler_of(const struct sigaction& action) {
    return reinterpret_cast<void*>(action.sa_handler);
  }
  struct Kept {
    int signal;
    bool valid = false;
    struct sigaction action = {};

    // Returns whether signal() has set the handler of `action` again.
    bool was_put_back(const struct sigaction& now) const {
      // The kernel's flag SA_RESTORER may be set, too.
      constexpr int kFlags =
          SA_RESTART | SA_SIGINFO | SA_NODEFER | SA_ONSTACK | static_cast<int>(SA_RESETHAND);
      return valid && handler_of(now) == handler_of(action) && (now.sa_flags & kFlags) == SA_RESTART;
    }
  };
  bool is_nvrtcs(const struct sigaction& action) const {
    if (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN) return false;
    const void* library = library_of(handler_of(action));
    return library != nullptr && std::find(libraries_.begin(), libraries_.end(), library) != libraries_.end();
  }

  std::mutex mutex_;
  unsigned running_ = 0;                // compilations between note() and restore()
  std::vector<const void*> libraries_;  // the base addresses of all copies of NVRTC
  Kept kept_[3] = {{SIGINT}, {SIGTERM}, {SIGXFSZ}};
};

// Lives as long as the process, because a compilation may end after static objects are destroyed.
ProgramSignals& program_signals() {
  static auto* const signals = new ProgramSignals;
  return *signals;
}

}  // namespace

Error nvrtc_error(const NvrtcApi& api, nvrtcResult result, const std::string& doing) {
  Error error{ErrorCode::internal, "NVRTC failed while " + doing + ": " + api.nvrtcGetErrorString(result)};
  error.native = result;
  if (result == NVRTC_ERROR_OUT_OF_MEMORY) {
    error.code = ErrorCode::unavailable;
    error.remedy = "free some memory, or compile fewer kernels at once";
  }
  if (result == NVRTC_ERROR_BUILTIN_OPERATION_FAILURE) {
    error.code = ErrorCode::unavailable;
    error.remedy = "libnvrtc-builtins of the same release has to be beside libnvrtc: install NVRTC again";
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
  const auto run = [&] {
    return api_->nvrtcCompileProgram(handle_, static_cast<int>(pointers.size()), pointers.data());
  };
  if (api_->leaves_signals) return run();
  program_signals().note(*api_);
  const nvrtcResult result = run();
  program_signals().restore();
  if (result == NVRTC_SUCCESS) api_->leaves_signals = true;
  return result;
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

Result<Bytes> NvrtcProgram::product(SizeGetter size_of, ContentGetter content_of, const char* name) const {
  std::size_t size = 0;
  nvrtcResult result = size_of(handle_, &size);
  Bytes image(size);
  if (result == NVRTC_SUCCESS)
    result = content_of(handle_, static_cast<char*>(static_cast<void*>(image.data())));
  if (result != NVRTC_SUCCESS) return nvrtc_error(*api_, result, std::string("handing out the ") + name);
  return image;
}

Result<Bytes> NvrtcProgram::cubin() const {
  return product(api_->nvrtcGetCUBINSize, api_->nvrtcGetCUBIN, "cubin");
}

Result<Bytes> NvrtcProgram::ptx() const {
  return product(api_->nvrtcGetPTXSize, api_->nvrtcGetPTX, "PTX");
}

Result<Bytes> NvrtcProgram::lto_ir() const {
  return product(api_->nvrtcGetLTOIRSize, api_->nvrtcGetLTOIR, "LTO IR");
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
