// SPDX-License-Identifier: Apache-2.0
#include "link_job.hpp"

#include "compile_flags.hpp"
#include "concurrent_sources.hpp"
#include "link_thread.hpp"
#include "linkage.hpp"
#include "root_folder.hpp"
#include "small_image.hpp"

#include <cubinet/base/elf.hpp>
#include <cubinet/spec/cubin_elf.hpp>
#include <cubinet/spec/fatbin.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace cubinet {
namespace {

constexpr std::uint8_t kGlobalBinding = 1;  // STB_GLOBAL; templates and inline functions are weak
constexpr std::uint8_t kLocalBinding = 0;

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
                                    const std::string& parameters_header, std::string& kept_because) {
  std::vector<const KernelTemplate*> sources = {request.kernel_template.get()};
  for (const auto& source : request.kernel_template->linked_sources())
    sources.push_back(source.get());
  std::vector<std::optional<Result<CompiledSource>>> compiled(sources.size());
  for_each_source(sources.size(), [&](std::size_t i) {
    compiled[i] = compile_source(api, request, *sources[i], *inputs.closures[i], parameters_header);
  });
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
  std::optional<Result<LinkOutput>> result;
  const std::vector<std::string> flags = link_flags(request.target, request.kind, request.spec.options);
  const auto work = [&] { result = link(linker, request, linked, flags); };
  const bool machine_code = !optimises_at_link(request.spec.options) || !inputs.libraries.libraries.empty();
  if (machine_code) {
    CUBINET_TRY(run_in_link_thread(work));
  } else {
    run_at_root(work);
  }
  if (!*result) return result->error();
  all.code = std::move((*result)->image);
  const std::string& warnings = (*result)->warnings;
  if (!warnings.empty()) all.log += (all.log.empty() ? "" : "\n") + warnings;
  if (!kept_because.empty()) return all;
  auto small = without_unused_variables(linker, request, linked, all.globals, all.code);
  if (small) {
    all.code = *std::move(small);
  } else {
    kept_because = small.error().message;
  }
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
