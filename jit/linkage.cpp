// SPDX-License-Identifier: Apache-2.0
#include "linkage.hpp"

#include "link_thread.hpp"
#include "log_reading.hpp"

#include <algorithm>

namespace cubinet {
namespace {

// One nvJitLink link. Owns the handle.
class Linkage {
 public:
  explicit Linkage(const NvJitLinkApi& api) : api_(api) {}
  Linkage(const Linkage&) = delete;
  Linkage& operator=(const Linkage&) = delete;
  ~Linkage() {
    if (handle_ != nullptr) api_.Destroy(&handle_);
  }

  int begin(const std::vector<std::string>& flags) {
    std::vector<const char*> pointers;
    for (const std::string& flag : flags)
      pointers.push_back(flag.c_str());
    return api_.Create(&handle_, static_cast<std::uint32_t>(pointers.size()), pointers.data());
  }
  int add(const LinkInput& input) {
    return api_.AddData(handle_, static_cast<int>(input.kind), input.content.data(), input.content.size(),
                        input.name.c_str());
  }
  int finish() { return api_.Complete(handle_); }
  int take(ImageKind kind, Bytes& image) {
    const bool cubin = kind == ImageKind::cubin;
    std::size_t size = 0;
    int result = cubin ? api_.GetLinkedCubinSize(handle_, &size) : api_.GetLinkedPtxSize(handle_, &size);
    image.resize(size);
    if (result != kNvJitLinkSuccess) return result;
    void* const content = image.data();
    return cubin ? api_.GetLinkedCubin(handle_, content)
                 : api_.GetLinkedPtx(handle_, static_cast<char*>(content));
  }
  std::string errors() const { return text(api_.GetErrorLogSize, api_.GetErrorLog); }
  // Returns the linker's warnings, without its progress messages.
  std::string warnings() const {
    const std::string told = text(api_.GetInfoLogSize, api_.GetInfoLog);
    std::string kept;
    for (std::size_t begin = 0; begin < told.size();) {
      const std::size_t end = std::min(told.find('\n', begin), told.size() - 1) + 1;
      const std::string_view line = std::string_view(told).substr(begin, end - begin);
      if (!line.starts_with("INFO:")) kept += line;
      begin = end;
    }
    return kept;
  }

 private:
  std::string text(int (*size_of)(NvJitLinkHandle, std::size_t*),
                   int (*content_of)(NvJitLinkHandle, char*)) const {
    std::size_t size = 0;
    if (handle_ == nullptr || size_of(handle_, &size) != kNvJitLinkSuccess || size == 0) return {};
    std::string log(size + 1, '\0');
    if (content_of(handle_, log.data()) != kNvJitLinkSuccess) return {};
    log.resize(log.find('\0'));
    return log;
  }

  const NvJitLinkApi& api_;
  NvJitLinkHandle handle_ = nullptr;
};

Error link_error(const NvJitLinkApi& api, const CompileRequest& request, int result, std::string log,
                 const std::string& doing) {
  Error error{ErrorCode::compile_failed, what_is_linked(request) + " does not link", {}};
  if (!doing.empty()) error.message += ", " + doing;
  error.remedy = remedy_of_log(log);
  if (error.remedy.empty()) {
    error.remedy = "read the linker's log; a library must be of " + request.target.to_string() +
                   " or PTX, and of no newer CUDA than the linker";
  }
  if (!request.options.quote_sources) log.clear();
  const std::string line = log.empty() ? "" : first_error(log);
  error.message += line.empty() ? " (nvJitLink " + api.version().to_string() + " says no more than error " +
                                      std::to_string(result) + ")"
                                : ": " + line;
  error.detail = std::move(log);
  error.native = result;
  return error;
}

}  // namespace

std::string what_is_linked(const CompileRequest& request) {
  return request.spec.to_string() + " for " + request.target.to_string();
}

Result<LinkOutput> link(const NvJitLinkApi& api, const CompileRequest& request,
                        const std::vector<LinkInput>& inputs, const std::vector<std::string>& flags) {
  Linkage linkage(api);
  int result = linkage.begin(flags);
  if (result != kNvJitLinkSuccess) {
    std::string given;
    for (const std::string& flag : flags)
      given += " " + flag;
    Error error = link_error(api, request, result, {}, "nvJitLink does not take" + given);
    error.remedy = "its documentation lists the targets and flags of its release";
    return error;
  }
  for (const LinkInput& input : inputs) {
    result = linkage.add(input);
    if (result == kNvJitLinkSuccess) continue;
    leave_link_lock();
    return link_error(api, request, result, linkage.errors(),
                      "the linker does not take '" + input.name + "'");
  }
  result = linkage.finish();
  if (result != kNvJitLinkSuccess) return link_error(api, request, result, linkage.errors(), {});
  LinkOutput linked;
  result = linkage.take(request.kind, linked.image);
  if (result != kNvJitLinkSuccess)
    return link_error(api, request, result, linkage.errors(), "the linker hands nothing out");
  linked.warnings = linkage.warnings();
  return linked;
}

}  // namespace cubinet
