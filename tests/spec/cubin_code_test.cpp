// SPDX-License-Identifier: Apache-2.0
#include "support/counted.hpp"
#include "support/fake_cubin.hpp"
#include "support/ok.hpp"
#include "support/sampled.hpp"

#include <cubinet/base/elf.hpp>
#include <cubinet/spec/cubin_code.hpp>

#include <doctest/doctest.h>

#include <cstring>

namespace cubinet::test {
namespace {

// An instruction whose operands have this form, with a constant bank or other bits in the position
// of the bank.
constexpr std::uint64_t kMove = 0xa02;         // form 5: MOV R, c[bank][offset]
constexpr std::uint64_t kUniformLoad = 0x7ac;  // form 3: LDCU UR, c[bank][offset]
// Form 7: LDGSTS, an address in the position of the bank.
constexpr std::uint64_t kCopy = 0xfae;

// Returns the image with an instruction at the beginning of the kernel's code.
Bytes with_instruction(Bytes image, std::uint64_t opcode, std::uint64_t bank) {
  const auto elf = ElfImage::parse(image);
  const ElfSection* text = elf->find_section(".text.kernel");
  REQUIRE(text != nullptr);
  const std::uint64_t word = opcode | bank << 54U;
  std::memcpy(image.data() + (text->content.data() - image.data()), &word, sizeof(word));
  return image;
}

CubinCode code_of(const Bytes& image) {
  return ok(read_cubin_code(image));
}
CubinCode code_of(const FakeCubin& description) {
  return code_of(make_fake_cubin(description));
}

// Returns the names of the kernel's parts that differ.
std::vector<std::string> differing(const CubinCode& a, const CubinCode& b) {
  std::vector<std::string> parts;
  for (const auto& [part, digest] : a.kernels.at("kernel")) {
    if (b.kernels.at("kernel").at(part) != digest) parts.push_back(part);
  }
  for (const auto& [part, digest] : a.module) {
    if (b.module.at(part) != digest) parts.push_back(part);
  }
  return parts;
}

using Parts = std::vector<std::string>;

TEST_CASE("code, arguments and constants of a kernel count, and what does not run does not") {
  const FakeCubin base;
  CHECK(differing(code_of(base), code_of(base)).empty());
  FakeCubin other_code;
  other_code.filler = 0x5b;
  CHECK(differing(code_of(base), code_of(other_code)) == Parts{"code"});
  FakeCubin other_arguments;
  other_arguments.kernels = {{"kernel", 24}};
  CHECK(differing(code_of(base), code_of(other_arguments)) == Parts{"attributes"});
  FakeCubin constants;
  constants.globals = {{"ignored", ".nv.constant2.kernel", 8}};
  CHECK(differing(code_of(base), code_of(constants)) == Parts{"constants"});
  FakeCubin shared;
  shared.globals = {{"ignored", ".nv.shared.kernel", 64}};
  CHECK(differing(code_of(base), code_of(shared)) == Parts{"resources"});
  FakeCubin function;
  function.globals = {{"ignored", ".text.helper", 32}};
  CHECK(differing(code_of(base), code_of(function)) == Parts{"functions"});
  FakeCubin family;
  family.globals = {{"ignored", ".nv.capmerc.text.kernel", 32}};
  CHECK(differing(code_of(base), code_of(family)) == Parts{"code"});
  FakeCubin two;
  two.kernels = {{"kernel"}, {"second"}};
  CHECK(code_of(two).kernels.size() == 2);
}

TEST_CASE("variables count only if an instruction reads the constant bank that holds or leads to them") {
  FakeCubin few;
  few.globals = {{"a", ".nv.constant3", 16}, {"b", ".nv.constant4", 8}};
  FakeCubin other_constants = few;
  other_constants.globals[0].bytes = 32;
  FakeCubin other_addresses = few;
  other_addresses.globals[1].bytes = 16;
  const auto compare = [&](const FakeCubin& other, std::uint64_t opcode, std::uint64_t bank) {
    return differing(code_of(with_instruction(make_fake_cubin(few), opcode, bank)),
                     code_of(with_instruction(make_fake_cubin(other), opcode, bank)));
  };
  for (const std::uint64_t opcode : {kMove, kUniformLoad}) {
    CHECK(compare(other_constants, opcode, 3) == Parts{"data"});
    CHECK(compare(other_constants, opcode, 4).empty());
    CHECK(compare(other_addresses, opcode, 4) == Parts{"data"});
    CHECK(compare(other_addresses, opcode, 0).empty());
  }
  CHECK(compare(other_constants, kCopy, 3).empty());
  CHECK(compare(other_addresses, kCopy, 4).empty());
}

TEST_CASE("the encoding of old devices is not known, so that their variables count") {
  FakeCubin few;
  few.target = {6, 0, TargetKind::baseline};
  few.globals = {{"a", ".nv.constant3", 16}};
  FakeCubin more = few;
  more.globals[0].bytes = 32;
  CHECK(differing(code_of(few), code_of(more)) == Parts{"data"});
}

TEST_CASE("what is no cubin has no code, and one whose sections overlap is damaged") {
  CHECK(read_cubin_code(as_bytes("no ELF")).error().code == ErrorCode::corruption);
  FakeCubin description;
  description.code_bytes = 4096;
  for (int i = 0; i < 16; ++i)
    description.kernels.push_back({"kernel_" + std::to_string(i)});
  Bytes image = make_fake_cubin(description);
  CHECK(read_cubin_code(image));
  // Extends every section of code to the end of the image.
  std::uint64_t sections = 0;
  std::memcpy(&sections, image.data() + 0x28, sizeof(sections));
  for (std::size_t at = static_cast<std::size_t>(sections); at + 64 <= image.size(); at += 64) {
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
    std::memcpy(&offset, image.data() + at + 0x18, sizeof(offset));
    std::memcpy(&size, image.data() + at + 0x20, sizeof(size));
    if (size != 4096) continue;
    size = image.size() - offset;
    std::memcpy(image.data() + at + 0x20, &size, sizeof(size));
  }
  const auto read = read_cubin_code(image);
  REQUIRE_FALSE(read);
  CHECK(read.error().message.find("overlap") != std::string::npos);
}

TEST_CASE("a damaged cubin has some code or an error" * doctest::test_suite("loop")) {
  FakeCubin description;
  description.kernels = {{"kernel", 16}, {"other", 8}};
  description.globals = {{"a", ".nv.constant3", 16}, {"b", ".rela.text.kernel", 48}, {"c", ".nv.info", 24}};
  const Bytes image = make_fake_cubin(description);
  std::size_t mutants = 0;
  for (const std::size_t i : sampled(image.size(), 1)) {
    for (const std::byte change : changes(i, 8)) {
      Bytes damaged = image;
      damaged[i] ^= change;
      const auto read = read_cubin_code(damaged);
      REQUIRE((read || read.error().code == ErrorCode::corruption));
      ++mutants;
    }
    REQUIRE_FALSE(read_cubin_code(ByteView(image).first(i)));
  }
  counted(mutants, "mutants");
}

}  // namespace
}  // namespace cubinet::test
