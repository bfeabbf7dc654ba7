// SPDX-License-Identifier: Apache-2.0
#include "small_image.hpp"

#include "compile_flags.hpp"
#include "concurrent_sources.hpp"
#include "root_folder.hpp"

#include <cubinet/base/elf.hpp>
#include <cubinet/base/text.hpp>
#include <cubinet/spec/code_equality.hpp>
#include <cubinet/spec/ptx_variables.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <set>
#include <utility>

namespace cubinet {
namespace {

// The library's templates with all their headers have fewer, and no unused variables worth a link.
// Any header of CCCL or CuTe has several thousands.
constexpr std::size_t kManyConstants = 1000;

// Options whose output the comparison of machine code does not cover.
constexpr std::array<std::pair<const char*, const char*>, 2> kWholeOptions = {
    {{"device-debug", "it has debug information"}, {"generate-line-info", "it has line information"}}};

constexpr std::string_view kRelocatableMacro = "__CUDACC_RDC__";

constexpr std::uint8_t kVariableSymbol = 1;  // STT_OBJECT
// The symbol of a variable, its address and the relocation of that.
constexpr std::uint64_t kBytesOfVariable = 24 + 8 + 24;
constexpr std::uint64_t kLeastShare = 4;  // a quarter of the image

Error kept(std::string reason) {
  return Error{ErrorCode::unsupported, std::move(reason)};
}

Result<LinkOutput> link_at_root(const NvJitLinkApi& linker, const CompileRequest& request,
                                const std::vector<LinkInput>& inputs, const std::vector<std::string>& flags) {
  std::optional<Result<LinkOutput>> output;
  run_at_root([&] { output = link(linker, request, inputs, flags); });
  return *std::move(output);
}

// Returns an error unless variables are a share of a cubin that is worth another compilation.
Result<void> check_worth(ByteView cubin) {
  CUBINET_TRY_ASSIGN(const ElfImage elf, ElfImage::parse(cubin));
  CUBINET_TRY_ASSIGN(const std::vector<ElfSymbol> symbols, elf.symbols());
  std::uint64_t bytes = 0;
  for (const ElfSymbol& symbol : symbols) {
    if (symbol.type == kVariableSymbol) bytes += kBytesOfVariable + symbol.name.size();
  }
  if (bytes < cubin.size() / kLeastShare) return kept("variables are less than a quarter of it");
  return {};
}

// Returns an error unless an image is smaller than the whole one and has its machine code.
Result<void> check_smaller(ByteView image, ByteView whole) {
  if (image.size() >= whole.size()) return kept("the linker makes nothing smaller of it");
  CUBINET_TRY_ASSIGN(const bool same, have_equal_code(whole, image));
  if (!same) return kept("the linker makes other machine code of it");
  return {};
}

// Links LTO IR without unused variables. `globals` are the symbols of named ones.
Result<Bytes> link_used_variables(const NvJitLinkApi& linker, const CompileRequest& request,
                                  const std::vector<LinkInput>& lto_ir,
                                  const std::map<std::string, std::string, std::less<>>& globals) {
  CompileRequest listing = request;
  listing.kind = ImageKind::ptx;
  // Not with -O0, which would be faster: all later links of the process would then make other code
  // (nvJitLink 13.0).
  CUBINET_TRY_ASSIGN(const LinkOutput listed,
                     link_at_root(linker, listing, lto_ir,
                                  link_flags(request.target, ImageKind::ptx, request.spec.options)));
  std::set<std::string, std::less<>> named;
  for (const auto& [name, symbol] : globals)
    named.insert(symbol);
  std::vector<std::string> needed = needed_variables(as_text(listed.image), named);
  std::vector<std::string> flags = link_flags(request.target, ImageKind::cubin, request.spec.options);
  flags.emplace_back("-optimize-unused-variables");
  // If there is one name, nvJitLink 13.0 keeps all variables.
  if (needed.size() == 1) needed.push_back(needed.front());
  // Without this list the linker would fold variables that only the host writes.
  if (!needed.empty()) flags.push_back("-variables-used=" + join(needed, ","));
  CUBINET_TRY_ASSIGN(LinkOutput small, link_at_root(linker, request, lto_ir, flags));
  return std::move(small.image);
}

// Compiles a request's one source as LTO IR and links it without unused variables. Stops before the
// links if `is_final` becomes true.
Result<Bytes> compile_used_variables(NvrtcCopies& copies, const NvJitLinkApi& linker,
                                     const CompileRequest& request, const IncludeClosure& closure,
                                     const std::string& parameters_header,
                                     const std::atomic<bool>& is_final) {
  const KernelTemplate& source = *request.kernel_template;
  CompileRequest at_link = request;
  at_link.spec.options.emplace("dlink-time-opt", "");
  // NVRTC defines this macro for code that is linked. The text must be the same in both
  // compilations, because the comparison covers neither initial values in global memory nor unused
  // variables.
  if (!says_macro(at_link.spec.options, kRelocatableMacro))
    at_link.spec.options.emplace("U:" + std::string(kRelocatableMacro), "");
  std::optional<Result<CompiledSource>> lto_ir;
  {
    const NvrtcCopies::Lease own(copies, NvrtcCopies::kAlone);
    lto_ir = compile_source(own.api(), at_link, source, closure, parameters_header);
  }
  if (!*lto_ir) return lto_ir->error();
  if (is_final) return kept("NVRTC's image was enough");
  return link_used_variables(linker, at_link, {{source.file_name(), LinkInputKind::lto_ir, (*lto_ir)->code}},
                             (*lto_ir)->globals);
}

}  // namespace

std::optional<std::string> reason_to_keep_variables(
    const KernelTemplate& kernel_template, const CompilerOptions& options, ImageKind kind,
    const std::vector<std::shared_ptr<const IncludeClosure>>& closures) {
  if (kind != ImageKind::cubin) return "the image is PTX";
  if (needs_link(options) && !optimises_at_link(options)) return "machine code is linked (no -dlto)";
  if (!kernel_template.libraries().empty()) return "it is linked with libraries";
  for (const auto& [option, reason] : kWholeOptions) {
    if (options.contains(option)) return reason;
  }
  std::size_t constants = 0;
  for (const auto& closure : closures)
    constants += closure->constants;
  if (constants >= kManyConstants) return std::nullopt;
  return "its texts and headers have " + std::to_string(constants) + " times constexpr, fewer than " +
         std::to_string(kManyConstants);
}

Result<Bytes> without_unused_variables(const NvJitLinkApi& linker, const CompileRequest& request,
                                       const std::vector<LinkInput>& lto_ir,
                                       const std::map<std::string, std::string, std::less<>>& globals,
                                       ByteView whole) {
  CUBINET_TRY(check_worth(whole));
  CUBINET_TRY_ASSIGN(Bytes small, link_used_variables(linker, request, lto_ir, globals));
  CUBINET_TRY(check_smaller(small, whole));
  return small;
}

Result<CompiledSource> compile_small(NvrtcCopies& copies, const NvJitLinkApi& linker,
                                     const CompileRequest& request, const IncludeClosure& closure,
                                     const std::string& parameters_header, std::string& kept_because) {
  std::optional<Result<CompiledSource>> whole;
  Result<void> worth;
  std::optional<Result<Bytes>> small;
  std::atomic<bool> is_final = false;  // no smaller image is worth while
  for_each_source(2, [&](std::size_t i) {
    if (i == 0) {
      const NvrtcCopies::Lease nvrtc(copies);
      whole = compile_source(nvrtc.api(), request, *request.kernel_template, closure, parameters_header);
      if (*whole) worth = check_worth((*whole)->code);
      is_final = !*whole || !worth;
    } else if (!is_final) {
      small = compile_used_variables(copies, linker, request, closure, parameters_header, is_final);
    }
  });
  if (!*whole) return *std::move(whole);
  Result<void> taken = std::move(worth);
  if (taken && !*small) taken = small->error();
  if (taken) taken = check_smaller(**small, (*whole)->code);
  if (taken) {
    (*whole)->code = **std::move(small);
  } else {
    kept_because = taken.error().message;
  }
  return *std::move(whole);
}

}  // namespace cubinet
