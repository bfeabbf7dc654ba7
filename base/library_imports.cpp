// SPDX-License-Identifier: Apache-2.0
#include "library_imports.hpp"

#include <cstddef>
#include <cstring>
#include <elf.h>
#include <map>
#include <utility>

namespace cubinet {
namespace {

#if defined(__x86_64__)
constexpr unsigned kJumpSlot = R_X86_64_JUMP_SLOT;
constexpr unsigned kGlobalData = R_X86_64_GLOB_DAT;
#elif defined(__aarch64__)
constexpr unsigned kJumpSlot = R_AARCH64_JUMP_SLOT;
constexpr unsigned kGlobalData = R_AARCH64_GLOB_DAT;
#endif

struct SegmentSearch {
  ElfW(Addr) base;
  std::uint64_t address;
  std::optional<std::uint64_t> found;
};

// Searches the segments of the library whose base address is searched for. It is called for each
// library of the process and ends the walk at that library.
int find_segment(dl_phdr_info* library, std::size_t /*size*/, void* data) {
  auto& search = *static_cast<SegmentSearch*>(data);
  if (library->dlpi_addr != search.base) return 0;
  for (int i = 0; i < library->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = library->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || search.address < segment.p_vaddr) continue;
    const std::uint64_t offset = search.address - segment.p_vaddr;
    if (offset < segment.p_filesz) search.found = segment.p_offset + offset;
  }
  return 1;
}

}  // namespace

// The dynamic section has the addresses of the relocations of imports. glibc has relocated them.
std::vector<const ElfW(Rela) *> imports_of(const link_map& library, const char* symbol) {
  std::map<ElfW(Sxword), ElfW(Addr)> section;
  for (const ElfW(Dyn)* entry = library.l_ld; entry->d_tag != DT_NULL; ++entry)
    section.emplace(entry->d_tag, entry->d_un.d_val);
  // NOLINTBEGIN(performance-no-int-to-ptr): the loader states addresses
  const auto* symbols = reinterpret_cast<const ElfW(Sym)*>(section[DT_SYMTAB]);
  const auto* names = reinterpret_cast<const char*>(section[DT_STRTAB]);
  std::vector<const ElfW(Rela)*> imports;
  for (const auto& [table, size] : {std::pair{DT_JMPREL, DT_PLTRELSZ}, std::pair{DT_RELA, DT_RELASZ}}) {
    const auto* relocation = reinterpret_cast<const ElfW(Rela)*>(section[table]);
    const auto* const end = relocation + section[size] / sizeof *relocation;
    for (; relocation != end; ++relocation) {
      const auto index = relocation->r_info >> 32U;
      const auto type = relocation->r_info & 0xffffffffU;
      if ((type == kJumpSlot || type == kGlobalData) &&
          std::strcmp(names + symbols[index].st_name, symbol) == 0)
        imports.push_back(relocation);
    }
  }
  // NOLINTEND(performance-no-int-to-ptr)
  return imports;
}

std::optional<std::uint64_t> file_offset(const link_map& library, std::uint64_t address) {
  SegmentSearch search{library.l_addr, address, std::nullopt};
  ::dl_iterate_phdr(find_segment, &search);
  return search.found;
}

}  // namespace cubinet
