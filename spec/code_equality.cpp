// SPDX-License-Identifier: Apache-2.0
#include "instruction.hpp"

#include <cubinet/base/elf.hpp>
#include <cubinet/spec/code_equality.hpp>
#include <cubinet/spec/cubin_code.hpp>

#include <algorithm>
#include <elf.h>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cubinet {
namespace {

constexpr std::string_view kFunctions = ".text.";
constexpr std::string_view kAddressRelocations = ".rela.nv.constant4";
constexpr unsigned kAddressBank = 4;

// A variable or function, and an offset in it.
using Target = std::pair<std::string_view, std::uint64_t>;

// What the slots of .nv.constant4 hold, by their offset.
class AddressTable {
 public:
  static Result<AddressTable> read(const ElfImage& elf) {
    AddressTable table;
    const ElfSection* const section = elf.find_section(kAddressRelocations);
    if (section == nullptr) return table;
    CUBINET_TRY_ASSIGN(const std::vector<ElfSymbol> symbols, elf.symbols());
    const ByteView content = section->content;
    for (std::size_t at = 0; at + sizeof(Elf64_Rela) <= content.size(); at += sizeof(Elf64_Rela)) {
      const std::uint64_t symbol = ELF64_R_SYM(number_at(content, at + 8));
      if (symbol >= symbols.size()) continue;
      table.slots_[number_at(content, at)] = {symbols[static_cast<std::size_t>(symbol)].name,
                                              number_at(content, at + 16)};
    }
    return table;
  }

  // Returns whether both slots exist and hold the same address.
  static bool agree(const AddressTable& first, std::uint64_t slot, const AddressTable& second,
                    std::uint64_t other) {
    const auto one = first.slots_.find(slot);
    const auto two = second.slots_.find(other);
    return one != first.slots_.end() && two != second.slots_.end() && one->second == two->second;
  }

 private:
  std::map<std::uint64_t, Target> slots_;
};

// Two instructions in the same position, and the tables that they refer to.
bool have_same_meaning(Instruction one, const AddressTable& first, Instruction two,
                       const AddressTable& second) {
  const auto reads_slot = [](Instruction each) {
    return each.may_read_bank(kAddressBank) && !each.has_index();
  };
  if (reads_slot(one) && reads_slot(two))
    return AddressTable::agree(first, one.offset_in_bank(), second, two.offset_in_bank());
  // An index register of LDC may get the number of a slot as an immediate.
  return one == two || AddressTable::agree(first, one.immediate(), second, two.immediate());
}

// Gives `image`, a copy of `bytes`, the first one's slot numbers, so that equal code has equal bytes.
// Returns false if the operands differ otherwise.
Result<bool> renumber(const ElfImage& first, ByteView bytes, Bytes& image) {
  CUBINET_TRY_ASSIGN(const ElfImage second, ElfImage::parse(bytes));
  CUBINET_TRY_ASSIGN(const AddressTable slots, AddressTable::read(first));
  CUBINET_TRY_ASSIGN(const AddressTable others, AddressTable::read(second));
  for (const ElfSection& section : second.sections()) {
    if (!section.name.starts_with(kFunctions)) continue;
    const ElfSection* const model = first.find_section(section.name);
    const ByteView code = section.content;
    if (model == nullptr || model->content.size() != code.size() || code.size() % Instruction::kBytes != 0)
      return false;
    for (std::size_t at = 0; at < code.size(); at += Instruction::kBytes) {
      const Instruction one(number_at(model->content, at));
      const Instruction two(number_at(code, at));
      if (!one.has_form_of(two) || !have_same_meaning(one, slots, two, others)) return false;
    }
    // What the operands do not hold is compared afterwards.
    const auto begin = static_cast<std::size_t>(code.data() - bytes.data());
    for (std::size_t at = 0; at < code.size(); at += Instruction::kBytes)
      std::copy_n(model->content.begin() + static_cast<std::ptrdiff_t>(at), sizeof(std::uint64_t),
                  image.begin() + static_cast<std::ptrdiff_t>(begin + at));
  }
  return true;
}

}  // namespace

Result<bool> have_equal_code(ByteView first, ByteView second) {
  CUBINET_TRY_ASSIGN(const CubinCode code, read_cubin_code(first));
  CUBINET_TRY_ASSIGN(const CubinCode other, read_cubin_code(second));
  if (code == other) return true;
  Bytes renumbered(second.begin(), second.end());
  CUBINET_TRY_ASSIGN(const ElfImage elf, ElfImage::parse(first));
  CUBINET_TRY_ASSIGN(const bool same, renumber(elf, second, renumbered));
  if (!same) return false;
  CUBINET_TRY_ASSIGN(const CubinCode without, read_cubin_code_without_addresses(first));
  CUBINET_TRY_ASSIGN(const CubinCode other_without, read_cubin_code_without_addresses(renumbered));
  return without == other_without;
}

}  // namespace cubinet
