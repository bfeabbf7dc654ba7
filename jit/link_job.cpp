// SPDX-License-Identifier: Apache-2.0
#include "link_job.hpp"

#include "compile_flags.hpp"
#include "link_thread.hpp"
#include "log_reading.hpp"
#include "root_folder.hpp"

#include <cubinet/base/elf.hpp>
#include <cubinet/base/parallel.hpp>
#include <cubinet/spec/cubin_elf.hpp>
#include <cubinet/spec/fatbin.hpp>

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <set>

namespace cubinet {
namespace {

constexpr std::uint8_t kGlobalBinding = 1;  // STB_GLOBAL; templates and inline functions are weak
constexpr std::uint8_t kLocalBinding = 0;

struct LinkInput {
  std::string name;
  LinkInputKind kind;
  ByteView content;
};

std::string what_is_linked(const CompileRequest& request) {
  return request.spec.to_string() + " for " + request.target.to_string();
}

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

Result<CompiledSource> link(const NvJitLinkApi& api, const CompileRequest& request,
                            const std::vector<LinkInput>& inputs) {
  Linkage linkage(api);
  const std::vector<std::string> flags = link_flags(request.target, request.kind, request.spec.options);
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
  CompiledSource linked;
  result = linkage.take(request.kind, linked.code);
  if (result != kNvJitLinkSuccess)
    return link_error(api, request, result, linkage.errors(), "the linker hands nothing out");
  linked.log = linkage.warnings();
  return linked;
}

// Refuses machine code that the linker would refuse while keeping its lock (link_thread.hpp).
Result<void> check_machine_code(const CompileRequest& request, const std::vector<LinkInput>& inputs) {
  for (const LinkInput& input : inputs) {
    if (input.kind != LinkInputKind::cubin) continue;
    const auto inspection = inspect_cubin(input.content);
    if (inspection && inspection->capability.major == request.target.major) continue;
    const std::string reason =
        inspection ? "it is machine code for " + inspection->target_name() : inspection.error().message;
    return Error{ErrorCode::compile_failed,
                 what_is_linked(request) + " does not link: '" + input.name + "' cannot be a part: " + reason,
                 "build it for " + request.target.to_string()};
  }
  return {};
}

// Returns the machine code of an input that the linker would use for the target, as far as this can
// be known; empty for PTX, objects, archives and unknown inputs.
Bytes machine_code_of(const LinkInput& input, SmTarget target) {
  if (input.kind == LinkInputKind::cubin) return Bytes(input.content.begin(), input.content.end());
  if (input.kind != LinkInputKind::fatbin) return {};
  auto elements = read_fatbin(input.content);
  if (!elements) return {};
  for (FatbinElement& element : *elements) {
    if (element.kind != ImageKind::cubin) continue;
    const auto inspection = inspect_cubin(element.image);
    if (inspection && !contradicts(*inspection, target)) return std::move(element.image);
  }
  return {};
}

// Refuses machine code with duplicate functions. nvJitLink (13.0, 13.5) links the first one without
// an error and reports it only on standard error.
Result<void> check_definitions(const CompileRequest& request, const std::vector<LinkInput>& inputs) {
  std::map<std::string, std::string, std::less<>> definers;
  for (const LinkInput& input : inputs) {
    const Bytes code = machine_code_of(input, request.target);
    if (code.empty()) continue;
    CUBINET_TRY_ASSIGN(const ElfImage elf, ElfImage::parse(code));
    CUBINET_TRY_ASSIGN(const std::vector<ElfSymbol> symbols, elf.symbols());
    for (const ElfSymbol& symbol : symbols) {
      if (symbol.binding != kGlobalBinding || symbol.section == 0 || symbol.name.empty()) continue;
      const auto [first, is_new] = definers.emplace(symbol.name, input.name);
      if (is_new) continue;
      return Error{ErrorCode::compile_failed,
                   what_is_linked(request) + " does not link: '" + std::string(symbol.name) +
                       "' is defined in '" + first->second + "' and in '" + input.name + "'",
                   "keep one definition, or make them static or inline"};
    }
  }
  return {};
}

}  // namespace

Result<void> check_linkable(const CompileRequest& request) {
  if (request.kind == ImageKind::cubin) return {};
  const bool from_text =
      optimises_at_link(request.spec.options) && request.kernel_template->libraries().empty();
  if (from_text) return {};
  return Error{ErrorCode::unsupported,
               what_is_linked(request) + " cannot be PTX: relocatable code is linked as machine code",
               "ask for a cubin, or link sources alone with -dlto"};
}

Result<CompiledSource> run_link_job(const NvrtcApi& api, const NvJitLinkApi& linker,
                                    const CompileRequest& request, const BuildInputs& inputs,
                                    const std::string& parameters_header) {
  std::vector<const KernelTemplate*> sources = {request.kernel_template.get()};
  for (const auto& source : request.kernel_template->linked_sources())
    sources.push_back(source.get());
  std::vector<std::optional<Result<CompiledSource>>> compiled(sources.size());
  {
    // One request at a time compiles its sources concurrently, so that concurrent requests do not
    // multiply threads.
    static std::mutex one_at_a_time;
    const std::unique_lock lock(one_at_a_time, std::try_to_lock);
    parallel_for(sources.size(), lock && sources.size() > 1 ? default_jobs() : 1, [&](std::size_t i) {
      compiled[i] = compile_source(api, request, *sources[i], *inputs.closures[i], parameters_header);
    });
  }
  std::vector<LinkInput> linked;
  CompiledSource all;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    Result<CompiledSource>& one = *compiled[i];
    if (!one) return one.error();
    const auto kind = optimises_at_link(request.spec.options) ? LinkInputKind::lto_ir : LinkInputKind::cubin;
    linked.push_back({sources[i]->file_name(), kind, one->code});
    all.symbols.insert(all.symbols.end(), one->symbols.begin(), one->symbols.end());
    all.globals.merge(one->globals);
    if (!one->log.empty()) all.log += (all.log.empty() ? "" : "\n") + one->log;
  }
  for (const DeviceLibrary& library : inputs.libraries.libraries)
    linked.push_back({library.name, library.kind, library.content});
  CUBINET_TRY(check_machine_code(request, linked));
  CUBINET_TRY(check_definitions(request, linked));
  std::optional<Result<CompiledSource>> result;
  const auto work = [&] { result = link(linker, request, linked); };
  const bool machine_code = !optimises_at_link(request.spec.options) || !inputs.libraries.libraries.empty();
  if (machine_code) {
    CUBINET_TRY(run_in_link_thread(work));
  } else {
    run_at_root(work);
  }
  if (!*result) return result->error();
  all.code = std::move((*result)->code);
  if (!(*result)->log.empty()) all.log += (all.log.empty() ? "" : "\n") + (*result)->log;
  return all;
}

Result<std::vector<std::string>> visible_kernels(ByteView cubin) {
  CUBINET_TRY_ASSIGN(const ElfImage elf, ElfImage::parse(cubin));
  CUBINET_TRY_ASSIGN(const std::vector<ElfSymbol> symbols, elf.symbols());
  std::set<std::string_view> hidden;
  for (const ElfSymbol& symbol : symbols) {
    if (symbol.binding == kLocalBinding) hidden.insert(symbol.name);
  }
  CUBINET_TRY_ASSIGN(CubinInspection inspection, inspect_cubin(cubin));
  std::erase_if(inspection.kernels, [&](const std::string& kernel) { return hidden.contains(kernel); });
  return std::move(inspection.kernels);
}

}  // namespace cubinet
