// SPDX-License-Identifier: Apache-2.0
#include "cubin_attributes.hpp"

#include <cubinet/base/elf.hpp>
#include <cubinet/spec/cubin_elf.hpp>
#include <cubinet/spec/kernel_resources.hpp>

#include <algorithm>
#include <elf.h>
#include <map>

namespace cubinet {
namespace {

// EIATTR_*, as NVIDIA's cuobjdump -elf names them. Attributes of .nv.info begin with a symbol
// number.
constexpr std::uint8_t kMaximumThreads = 0x05;
constexpr std::uint8_t kRequiredThreads = 0x10;
constexpr std::uint8_t kFrameSize = 0x11;
constexpr std::uint8_t kRegisterCount = 0x2f;
constexpr std::uint8_t kCluster = 0x3d;

constexpr std::uint8_t kManagedVariable = 0x04;  // STO_CUDA_MANAGED in st_other

constexpr std::string_view kSharedMemory = ".nv.shared.";

Error damaged(std::string_view section) {
  return Error{ErrorCode::corruption,
               "not a usable cubin: the section " + std::string(section) + " ends within an entry",
               "build or fetch the file again"};
}

KernelResources::Extent extent(const CubinAttribute& attribute) {
  return {attribute.word(0), attribute.word(1), attribute.word(2)};
}

Result<void> read_kernel(KernelResources& kernel, const ElfSection& section) {
  CubinAttributes attributes(section.content);
  while (const auto attribute = attributes.next()) {
    switch (attribute->tag) {
      case kParameterInfo:
        // The fields are: index; ordinal and offset; the size in the upper 14 bits of the last
        // word. Parameters occur in any order.
        kernel.arguments.push_back({attribute->word(1) >> 16U, attribute->word(2) >> 18U});
        break;
      case kArgumentBytes:
        kernel.argument_bytes = attribute->word(0);
        break;
      case kMaximumThreads:
        kernel.max_threads = extent(*attribute);
        break;
      case kRequiredThreads:
        kernel.required_threads = extent(*attribute);
        break;
      case kCluster:
        kernel.cluster = extent(*attribute);
        break;
      default:
        break;
    }
  }
  if (attributes.damaged()) return damaged(section.name);
  std::sort(kernel.arguments.begin(), kernel.arguments.end(),
            [](const ArgumentPlace& a, const ArgumentPlace& b) { return a.offset < b.offset; });
  return {};
}

Result<void> read_common(std::map<std::string_view, KernelResources*>& kernels, const ElfImage& elf) {
  const ElfSection* section = elf.find_section(".nv.info");
  if (section == nullptr) return {};
  CUBINET_TRY_ASSIGN(const auto symbols, elf.symbols());
  CubinAttributes attributes(section->content);
  while (const auto attribute = attributes.next()) {
    if (attribute->tag != kRegisterCount && attribute->tag != kFrameSize) continue;
    if (attribute->word(0) >= symbols.size()) continue;  // belongs to a removed function
    const auto kernel = kernels.find(symbols[attribute->word(0)].name);
    if (kernel == kernels.end()) continue;  // a function that is not an entry
    auto& stated = attribute->tag == kRegisterCount ? kernel->second->registers : kernel->second->stack_bytes;
    stated = attribute->word(1);
  }
  if (attributes.damaged()) return damaged(section->name);
  return {};
}

Result<void> read_notes(const ElfImage& elf, CubinReport& report) {
  if (const ElfSection* section = elf.find_section(".nv.compat")) {
    CubinAttributes attributes(section->content);
    while (const auto attribute = attributes.next())
      report.compatibility.push_back(
          {attribute->tag, Bytes(attribute->value.begin(), attribute->value.end())});
    if (attributes.damaged()) return damaged(section->name);
  }
  for (const ElfSection& section : elf.sections()) {
    if (section.type != SHT_NOTE) continue;
    const auto walked =
        for_each_elf_note(section.content, [&](std::string_view owner, std::uint32_t type, ByteView payload) {
          report.notes.push_back(
              {std::string(section.name), std::string(owner), type, Bytes(payload.begin(), payload.end())});
          return true;
        });
    if (!walked) return damaged(section.name);
  }
  return {};
}

// Reads the variables of constant bank 3 and of global memory, whatever their names begin with.
Result<void> read_globals(const ElfImage& elf, CubinReport& report) {
  CUBINET_TRY_ASSIGN(const auto symbols, elf.symbols());
  for (const ElfSymbol& symbol : symbols) {
    if (symbol.type != STT_OBJECT || symbol.section >= elf.sections().size()) continue;
    const std::string_view section = elf.sections()[symbol.section].name;
    const bool constant = section == ".nv.constant3";
    if (!constant && section != ".nv.global" && section != ".nv.global.init") continue;
    const bool managed = (symbol.other & kManagedVariable) != 0;
    report.globals.push_back({std::string(symbol.name),
                              constant  ? "constant"
                              : managed ? "managed"
                                        : "global",
                              symbol.size});
  }
  return {};
}

}  // namespace

Result<CubinReport> report_cubin(ByteView image) {
  CUBINET_TRY_ASSIGN(const CubinInspection inspection, inspect_cubin(image));
  CUBINET_TRY_ASSIGN(const ElfImage elf, ElfImage::parse(image));
  CubinReport report;
  report.kernels.resize(inspection.kernels.size());
  std::map<std::string_view, KernelResources*> kernels;
  for (std::size_t i = 0; i < report.kernels.size(); ++i) {
    report.kernels[i].name = inspection.kernels[i];
    report.kernels[i].static_shared_bytes = 0;
    kernels.emplace(inspection.kernels[i], &report.kernels[i]);
  }
  for (const ElfSection& section : elf.sections()) {
    const bool info = section.name.starts_with(kKernelInfo);
    if (!info && !section.name.starts_with(kSharedMemory)) continue;
    const auto kernel = kernels.find(section.name.substr((info ? kKernelInfo : kSharedMemory).size()));
    if (kernel == kernels.end()) continue;
    if (info) {
      CUBINET_TRY(read_kernel(*kernel->second, section));
    } else {
      kernel->second->static_shared_bytes = static_cast<std::uint32_t>(section.size);
    }
  }
  CUBINET_TRY(read_common(kernels, elf));
  CUBINET_TRY(read_globals(elf, report));
  CUBINET_TRY(read_notes(elf, report));
  return report;
}

}  // namespace cubinet
