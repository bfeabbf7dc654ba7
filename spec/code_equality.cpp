// SPDX-License-Identifier: Apache-2.0
#include "instruction.hpp"

#include <cubinet/base/elf.hpp>
#include <cubinet/spec/code_equality.hpp>
#include <cubinet/spec/cubin_code.hpp>

#include <algorithm>
#include <elf.h>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace cubinet {
namespace {

constexpr std::string_view kFunctions = ".text.";
constexpr std::string_view kIntermediate = ".nv.capmerc.text.";
constexpr std::string_view kConstantSection = ".nv.constant3";
constexpr std::string_view kAddressSection = ".nv.constant4";
constexpr unsigned kConstantBank = 3;
constexpr unsigned kAddressBank = 4;
constexpr std::size_t kWordBytes = 4;
constexpr std::uint64_t kSlotBytes = 8;

constexpr std::uint8_t kVariableSymbol = 1;  // STT_OBJECT

// A variable or function, an offset in it, and the byte of the address that is read.
using Target = std::tuple<std::string_view, std::uint64_t, std::uint64_t>;

// The contents of the constant banks of a module: the user's constants, and addresses.
class ConstantBanks {
 public:
  static Result<ConstantBanks> read(const ElfImage& elf) {
    ConstantBanks banks;
    CUBINET_TRY_ASSIGN(const std::vector<ElfSymbol> symbols, elf.symbols());
    banks.read_constants(elf, symbols);
    banks.read_addresses(elf, symbols, true);
    banks.read_addresses(elf, symbols, false);
    return banks;
  }

  // Returns the address in the slot of .nv.constant4 that has the offset. Before 9.0 instructions
  // read the halves of a slot.
  std::optional<Target> address_at(std::uint64_t offset) const {
    const std::uint64_t in_slot = offset % kSlotBytes;
    const auto found = addresses_.find(offset - in_slot);
    if (found == addresses_.end()) return std::nullopt;
    return Target{found->second.name, found->second.addend, in_slot};
  }
  // Returns the variable at an offset of .nv.constant3.
  std::optional<Target> constant_at(std::uint64_t offset) const {
    auto behind = constants_.upper_bound(offset);
    if (behind == constants_.begin()) return std::nullopt;
    const auto& [begin, constant] = *--behind;
    if (offset - begin >= constant.content.size()) return std::nullopt;
    return Target{constant.name, offset - begin, 0};
  }
  std::optional<Target> at(unsigned bank, std::uint64_t offset) const {
    return bank == kAddressBank ? address_at(offset) : constant_at(offset);
  }

  // Returns whether the constants have the same names and initial values.
  bool has_constants_of(const ConstantBanks& other) const {
    return constants_.size() == other.constants_.size() && by_name() == other.by_name();
  }

 private:
  struct Address {
    std::string_view name;
    std::uint64_t addend = 0;
  };
  struct Constant {
    std::string_view name;
    ByteView content;
  };

  // Reads the relocations of the slots. Before 9.0 they have no addend, and the slot holds it.
  void read_addresses(const ElfImage& elf, const std::vector<ElfSymbol>& symbols, bool with_addend) {
    const std::string name = (with_addend ? ".rela" : ".rel") + std::string(kAddressSection);
    const ElfSection* const section = elf.find_section(name);
    const ElfSection* const slots = elf.find_section(kAddressSection);
    if (section == nullptr || slots == nullptr) return;
    const ByteView content = section->content;
    const std::size_t step = with_addend ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
    for (std::size_t at = 0; at + step <= content.size(); at += step) {
      const std::uint64_t symbol = ELF64_R_SYM(number_at(content, at + 8));
      if (symbol >= symbols.size()) continue;
      const std::uint64_t offset = number_at(content, at);
      const std::uint64_t addend =
          with_addend ? number_at(content, at + 16) : number_at(slots->content, offset);
      addresses_[offset] = {symbols[static_cast<std::size_t>(symbol)].name, addend};
    }
  }

  void read_constants(const ElfImage& elf, const std::vector<ElfSymbol>& symbols) {
    for (const ElfSymbol& symbol : symbols) {
      if (symbol.type != kVariableSymbol || symbol.section >= elf.sections().size()) continue;
      const ElfSection& section = elf.sections()[symbol.section];
      if (section.name != kConstantSection || symbol.value > section.content.size()) continue;
      const ByteView rest = section.content.subspan(static_cast<std::size_t>(symbol.value));
      const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(symbol.size, rest.size()));
      constants_[symbol.value] = {symbol.name, rest.first(size)};
    }
  }

  std::map<std::string_view, std::string_view> by_name() const {
    std::map<std::string_view, std::string_view> named;
    for (const auto& [offset, constant] : constants_)
      named.emplace(constant.name, as_text(constant.content));
    return named;
  }

  std::map<std::uint64_t, Address> addresses_;  // by the offset of the slot
  std::map<std::uint64_t, Constant> constants_;
};

// Returns whether two instructions of one form mean the same with the banks of their modules.
bool have_same_meaning(Instruction one, const ConstantBanks& first, Instruction two,
                       const ConstantBanks& second) {
  for (const unsigned bank : {kConstantBank, kAddressBank}) {
    if (!one.may_read_bank(bank) || !two.may_read_bank(bank) || one.has_index() != two.has_index()) continue;
    const auto target = first.at(bank, one.offset_in_bank());
    const auto other = second.at(bank, two.offset_in_bank());
    // Without a register, the offset is that of one variable.
    if (bank == kConstantBank || !one.has_index() || one != two) return target && target == other;
  }
  if (one == two) return true;
  // An index register of LDC may get the number of a slot as an immediate.
  const auto target = first.address_at(one.immediate());
  return target && target == second.address_at(two.immediate());
}

// Copies bytes of one section over those of another in `image`, a copy of `bytes`.
void copy_over(ByteView from, ByteView to, ByteView bytes, Bytes& image) {
  std::copy(from.begin(), from.end(), image.begin() + (to.data() - bytes.data()));
}

// The first word of this section is the number of a section, which depends on how many there are.
bool has_same_section(const ElfImage& first, ByteView one, const ElfImage& second, ByteView two) {
  const auto number = [](ByteView content) {
    return static_cast<std::size_t>(number_at(content, 0) & 0xffffffffU);
  };
  return one.size() >= kWordBytes && two.size() >= kWordBytes && number(one) < first.sections().size() &&
         number(two) < second.sections().size() &&
         first.sections()[number(one)].name == second.sections()[number(two)].name;
}

// Gives `image`, a copy of `bytes`, the first one's offsets in the constant banks, so that equal
// code has equal bytes. Returns false if the operands differ otherwise.
Result<bool> renumber(const ElfImage& first, ByteView bytes, Bytes& image) {
  CUBINET_TRY_ASSIGN(const ElfImage second, ElfImage::parse(bytes));
  CUBINET_TRY_ASSIGN(const ConstantBanks banks, ConstantBanks::read(first));
  CUBINET_TRY_ASSIGN(const ConstantBanks others, ConstantBanks::read(second));
  if (!banks.has_constants_of(others)) return false;
  for (const ElfSection& section : second.sections()) {
    const bool is_intermediate = section.name.starts_with(kIntermediate);
    if (!section.name.starts_with(kFunctions) && !is_intermediate) continue;
    const ElfSection* const model = first.find_section(section.name);
    const ByteView code = section.content;
    if (model == nullptr || model->content.size() != code.size()) return false;
    if (is_intermediate) {
      if (has_same_section(first, model->content, second, code))
        copy_over(model->content.first(kWordBytes), code, bytes, image);
      continue;
    }
    if (code.size() % Instruction::kBytes != 0) return false;
    for (std::size_t at = 0; at < code.size(); at += Instruction::kBytes) {
      const Instruction one(number_at(model->content, at));
      const Instruction two(number_at(code, at));
      if (!one.has_form_of(two) || !have_same_meaning(one, banks, two, others)) return false;
      // The other half of the instruction is compared afterwards.
      copy_over(model->content.subspan(at, Instruction::kOperandBytes), code.subspan(at), bytes, image);
    }
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
  CUBINET_TRY_ASSIGN(const CubinCode without, read_cubin_code_without_data(first));
  CUBINET_TRY_ASSIGN(const CubinCode other_without, read_cubin_code_without_data(renumbered));
  return without == other_without;
}

}  // namespace cubinet
