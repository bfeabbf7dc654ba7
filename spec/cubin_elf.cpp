// SPDX-License-Identifier: Apache-2.0
#include "cubin_attributes.hpp"

#include <cubinet/base/elf.hpp>
#include <cubinet/base/text.hpp>
#include <cubinet/spec/cubin_elf.hpp>
#include <cubinet/spec/image_check.hpp>

#include <map>

namespace cubinet {
namespace {

constexpr std::uint8_t kSymbolFunction = 2;    // STT_FUNC
constexpr std::uint8_t kEntryFunction = 0x10;  // STO_CUDA_ENTRY in st_other
// EI_ABIVERSION; 8 moved the SM number to the second byte
constexpr std::uint8_t kAbiBeforeCuda129 = 7;
constexpr std::uint32_t kSpecificAbi7 = 0x800;  // in e_flags if the ABI version is 7
// A bit of e_flags that CUDA 12.9 sets and CUDA 13.0 leaves clear.
constexpr std::uint32_t kSpecificAbi8 = 0x8;
constexpr std::uint8_t kCompatSpecific = 9;
constexpr std::size_t kParameterBytes = 12;
constexpr std::size_t kArgumentBytesBytes = 2;
constexpr std::uint32_t kToolkitNote = 2000;
// Each symbol is searched for among all sections.
constexpr std::size_t kFewSymbols = 16;
constexpr std::string_view kNoteOwner = "NVIDIA Corp";
constexpr std::string_view kArchitectureOption = "-arch sm_";

Error not_a_cubin(std::string reason) {
  return Error{ErrorCode::corruption, "not a usable cubin: " + std::move(reason),
               "build or fetch the file again"};
}

// Reads an attribute of .nv.compat, which files of CUDA 13 have from sm_90 up. It is 1 for an `a`
// target.
std::optional<bool> specific_by_compat(const ElfImage& elf) {
  const ElfSection* section = elf.find_section(".nv.compat");
  if (section == nullptr) return std::nullopt;
  CubinAttributes attributes(section->content);
  while (const auto attribute = attributes.next()) {
    if (attribute->tag == kCompatSpecific && attribute->value.size() == 1) return attribute->word(0) == 1;
  }
  return std::nullopt;
}

// Returns the payload of the note in which a tool states its release and options, or an empty text
// if there is none. It is searched as text because the fields before the strings are not
// documented.
std::string_view toolkit_note(const ElfImage& elf) {
  std::string_view payload;
  const ElfSection* section = elf.find_section(".note.nv.tkinfo");
  if (section == nullptr) return payload;
  // A linker's note names no target. A truncated note is ignored.
  static_cast<void>(
      for_each_elf_note(section->content, [&](std::string_view owner, std::uint32_t type, ByteView content) {
        if (owner != kNoteOwner || type != kToolkitNote) return true;
        payload = as_text(content);
        return payload.find(kArchitectureOption) == std::string_view::npos;
      }));
  return payload;
}

// Returns the target in "… -arch sm_100f -m 64".
std::optional<SmTarget> target_by_toolkit_note(std::string_view text) {
  const std::size_t at = text.find(kArchitectureOption);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view name = text.substr(at + kArchitectureOption.size() - 3);
  name = name.substr(0, name.find_first_of(std::string_view(" \0", 2)));
  const auto target = SmTarget::parse(name);
  if (!target) return std::nullopt;
  return *target;
}

void read_target(const ElfImage& elf, CubinInspection& inspection) {
  const bool old_abi = elf.abi_version() <= kAbiBeforeCuda129;
  const std::uint32_t number = old_abi ? elf.flags() & 0xffU : (elf.flags() >> 8U) & 0xffU;
  inspection.capability = {static_cast<std::uint16_t>(number / 10), static_cast<std::uint16_t>(number % 10)};
  if ((elf.flags() & (old_abi ? kSpecificAbi7 : kSpecificAbi8)) != 0) {
    inspection.kind = TargetKind::specific;
    return;
  }
  const std::optional<bool> specific = specific_by_compat(elf);
  if (specific && *specific) {
    inspection.kind = TargetKind::specific;
    return;
  }
  inspection.excludes_specific = specific.has_value();
  if (inspection.capability.major < 9) {
    inspection.kind = TargetKind::baseline;  // no suffix exists below 9.0
    return;
  }
  if (const auto target = target_by_toolkit_note(toolkit_note(elf));
      target && target->capability() == inspection.capability) {
    inspection.kind = target->kind;
  }
}

struct OneArgument {
  std::uint32_t bytes = 0;  // 0: none, several, or unknown
  bool is_all = false;      // the bytes are those of all arguments, so no argument has another form
};

// Reads a kernel's one parameter from its attributes: index, ordinal, offset, and the size in the
// upper 14 bits of the last word.
OneArgument one_argument(ByteView section) {
  OneArgument argument;
  std::uint32_t of_all = 0;
  std::size_t parameters = 0;
  CubinAttributes attributes(section);
  while (const auto attribute = attributes.next()) {
    if (attribute->tag == kArgumentBytes && attribute->value.size() == kArgumentBytesBytes)
      of_all = attribute->word(0);
    if (attribute->tag != kParameterInfo || attribute->value.size() != kParameterBytes) continue;
    argument.bytes = attribute->word(2) >> 18U;
    ++parameters;
  }
  if (parameters != 1 || attributes.damaged()) return {};
  argument.is_all = argument.bytes == of_all;
  return argument;
}

// Returns the size of the kernel's only argument, or 0 unless the file states for certain that it
// is the only one.
std::uint32_t only_argument(const ElfImage& elf, std::string_view kernel) {
  OneArgument argument;
  std::size_t sections = 0;
  for (const ElfSection& section : elf.sections()) {
    if (!section.name.starts_with(kKernelInfo) || section.name.substr(kKernelInfo.size()) != kernel) continue;
    argument = one_argument(section.content);
    ++sections;
  }
  return sections == 1 && argument.is_all ? argument.bytes : 0;
}

void read_arguments(const ElfImage& elf, CubinInspection& inspection) {
  std::map<std::string_view, std::uint32_t> bytes;
  for (const ElfSection& section : elf.sections()) {
    if (section.name.starts_with(kKernelInfo))
      bytes.try_emplace(section.name.substr(kKernelInfo.size()), one_argument(section.content).bytes);
  }
  for (const std::string& kernel : inspection.kernels) {
    const auto found = bytes.find(kernel);
    inspection.argument_bytes.push_back(found == bytes.end() ? 0 : found->second);
  }
}

// The data that every reader needs first. `kernels` are the names of the entry functions and point
// into the image.
struct CubinElf {
  ElfImage elf;
  CubinInspection told;  // the target only
  std::vector<std::string_view> kernels;
};

Result<CubinElf> open_cubin(ByteView image) {
  auto elf = ElfImage::parse(image);
  if (!elf) return not_a_cubin(elf.error().message);
  if (elf->machine() != kCudaMachine) return not_a_cubin("the ELF is not for CUDA devices");
  CubinElf cubin{*std::move(elf), {}, {}};
  read_target(cubin.elf, cubin.told);
  if (cubin.told.capability.major == 0) return not_a_cubin("its e_flags name no GPU architecture");
  auto symbols = cubin.elf.symbols();
  if (!symbols) return not_a_cubin(symbols.error().message);
  for (const ElfSymbol& symbol : *symbols) {
    if (symbol.type != kSymbolFunction || (symbol.other & kEntryFunction) == 0) continue;
    if (cubin.kernels.size() == kMaximumImageKernels) return not_a_cubin("it has more than 4096 kernels");
    cubin.kernels.push_back(symbol.name);
  }
  return cubin;
}

}  // namespace

std::string CubinInspection::target_name() const {
  if (kind) return SmTarget{capability.major, capability.minor, *kind}.to_string();
  return SmTarget{capability.major, capability.minor, TargetKind::baseline}.to_string() + "?";
}

Result<CubinInspection> inspect_cubin(ByteView image) {
  CUBINET_TRY_ASSIGN(CubinElf cubin, open_cubin(image));
  CubinInspection inspection = std::move(cubin.told);
  inspection.kernels.assign(cubin.kernels.begin(), cubin.kernels.end());
  read_arguments(cubin.elf, inspection);
  return inspection;
}

std::string release_of_cubin(ByteView image) {
  const auto elf = ElfImage::parse(image);
  return elf ? toolkit_release(toolkit_note(*elf)) : std::string();
}

bool contradicts(const CubinInspection& inspection, SmTarget stated) {
  if (inspection.capability != stated.capability()) return true;
  if (inspection.kind) return *inspection.kind != stated.kind;
  return inspection.excludes_specific && stated.kind == TargetKind::specific;
}

Result<void> check_cubin(ByteView image, SmTarget stated, const std::vector<std::string_view>& symbols,
                         OnlyArguments* arguments) {
  CUBINET_TRY_ASSIGN(const CubinElf cubin, open_cubin(image));
  if (contradicts(cubin.told, stated)) {
    return not_a_cubin("it is built for " + cubin.told.target_name() + " and listed as " +
                       stated.to_string());
  }
  if (const std::string_view* missing = missing_symbol(cubin.kernels, symbols)) {
    return not_a_cubin("it holds no kernel '" + printable(*missing, kQuotedBytes) + "' (" +
                       std::to_string(cubin.kernels.size()) + " others)");
  }
  if (arguments == nullptr || symbols.size() > kFewSymbols) return {};
  arguments->reserve(symbols.size());
  for (const std::string_view symbol : symbols)
    arguments->push_back(only_argument(cubin.elf, symbol));
  return {};
}

}  // namespace cubinet
