// SPDX-License-Identifier: Apache-2.0
#include "ptx_words.hpp"

#include <cubinet/spec/cubin.hpp>
#include <cubinet/spec/kernel_resources.hpp>

#include <algorithm>
#include <charconv>
#include <limits>

namespace cubinet {
namespace {

// The largest argument list has 32,764 bytes (PTX ISA, "Kernel Function Parameters"), so a greater
// number is not a valid size.
constexpr std::uint64_t kMaximumBytes = 32'768;

std::uint64_t number(std::string_view word) {
  std::uint64_t value = 0;
  const auto [end, status] = std::from_chars(word.data(), word.data() + word.size(), value);
  return status == std::errc{} && end == word.data() + word.size()
             ? std::min(value, std::uint64_t{UINT32_MAX})
             : 0;
}

// Returns the bytes of ".u64", ".b8" or ".f16x2", or 0 for a word that is not a type.
std::uint64_t type_bytes(std::string_view word) {
  if (word.size() < 3 || word[0] != '.' || std::string_view("usfb").find(word[1]) == std::string_view::npos)
    return 0;
  const std::size_t by = std::min(word.find('x'), word.size());
  const std::uint64_t many = by == word.size() ? 1 : number(word.substr(by + 1));
  return std::min(number(word.substr(2, by - 2)) / 8 * many, kMaximumBytes + 1);
}

struct Argument {
  std::uint64_t alignment = 1;
  std::uint64_t element = 0;
  std::uint64_t count = 1;
};

// Reads one `.param .align 8 .b8 name[64]` up to the following ',' or ')'. The words after `.ptr`
// describe the pointee.
std::optional<std::string_view> read_argument(PtxWords& words, Argument& argument) {
  bool pointee = false;
  for (auto word = words.next(); word; word = words.next()) {
    if (*word == "," || *word == ")") return word;
    if (*word == ".ptr") pointee = true;
    if (*word == ".align") {
      const auto stated = words.next();
      if (stated && !pointee) argument.alignment = std::max<std::uint64_t>(1, number(*stated));
    } else if (*word == "[") {
      const auto stated = words.next();
      if (stated) argument.count = number(*stated);
    } else if (argument.element == 0) {
      argument.element = type_bytes(*word);
    }
  }
  return std::nullopt;
}

bool read_arguments(PtxWords& words, KernelResources& kernel) {
  std::uint64_t end = 0;
  auto word = words.next();
  while (word && *word != ")") {
    if (*word != ".param") return false;
    Argument argument;
    word = read_argument(words, argument);
    const std::uint64_t alignment = std::max(argument.alignment, argument.element);
    const std::uint64_t bytes = argument.element * argument.count;
    if (bytes == 0 || bytes > kMaximumBytes || alignment > kMaximumBytes) return false;
    const std::uint64_t offset = (end + alignment - 1) / alignment * alignment;
    end = offset + bytes;
    if (end > kMaximumBytes) return false;
    kernel.arguments.push_back({static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(bytes)});
    if (word && *word == ",") word = words.next();
  }
  kernel.argument_bytes = static_cast<std::uint32_t>(end);
  return word.has_value();
}

// Reads one `.global .attribute(.managed) .align 4 .b8 name[12] = {…};` after its first word.
ImageGlobal read_global(PtxWords& words, bool constant) {
  ImageGlobal global;
  global.space = constant ? "constant" : "global";
  std::uint64_t bytes = 0;
  bool in_parentheses = false;
  for (auto word = words.next(); word && *word != ";" && *word != "="; word = words.next()) {
    if (*word == "(" || *word == ")") {
      in_parentheses = *word == "(";
    } else if (in_parentheses) {
      if (*word == ".managed") global.space = "managed";
    } else if (*word == ".align") {
      words.next();
    } else if (*word == ".v2" || *word == ".v4") {
      bytes = word->back() == '2' ? 2 : 4;
    } else if (*word == "[") {
      const auto count = words.next();
      bytes =
          count && bytes != 0 && number(*count) <= kMaximumImageBytes / bytes ? bytes * number(*count) : 0;
    } else if (const std::uint64_t element = type_bytes(*word); element != 0 && global.name.empty()) {
      bytes = std::max<std::uint64_t>(bytes, 1) * element;
    } else if (!word->starts_with('.') && *word != "]") {
      if (global.name.empty()) global.name = *word;
    }
  }
  if (bytes != 0) global.bytes = bytes;
  return global;
}

}  // namespace

std::vector<ImageGlobal> ptx_globals(ByteView image) {
  std::vector<ImageGlobal> globals;
  PtxWords words(as_text(image));
  std::size_t depth = 0;
  while (const auto word = words.next()) {
    if (*word == "{") ++depth;
    if (*word == "}" && depth > 0) --depth;
    const bool constant = *word == ".const";
    if (depth != 0 || (!constant && *word != ".global")) continue;
    ImageGlobal global = read_global(words, constant);
    if (!global.name.empty()) globals.push_back(std::move(global));
  }
  return globals;
}

Result<std::vector<KernelResources>> ptx_resources(ByteView image) {
  std::string_view text = as_text(image);
  text.remove_suffix(text.ends_with('\0') ? 1 : 0);
  std::vector<KernelResources> kernels;
  PtxWords words(text);
  // The loop reads one word ahead, because the next directive may follow a number of threads.
  for (auto word = words.next(); word;) {
    if (*word != ".entry") {
      word = words.next();
      continue;
    }
    const auto name = words.next();
    KernelResources& kernel = kernels.emplace_back();
    kernel.name = name.value_or("");
    word = words.next();
    if (word && *word == "(") {
      if (!read_arguments(words, kernel)) {
        return Error{ErrorCode::corruption,
                     "not usable PTX: the arguments of '" + kernel.name + "' cannot be read",
                     "build or fetch it again"};
      }
      word = words.next();
    }
    while (word && *word != "{" && *word != ";") {
      const std::string_view directive = *word;
      KernelResources::Extent extent = {1, 1, 1};
      std::size_t count = 0;
      for (word = words.next(); word && count < extent.size(); word = words.next()) {
        if (*word == ",") continue;
        const auto value = number(*word);
        if (value == 0) break;
        extent[count++] = static_cast<std::uint32_t>(value);
      }
      if (count == 0) continue;
      if (directive == ".maxntid") kernel.max_threads = extent;
      if (directive == ".reqntid") kernel.required_threads = extent;
      if (directive == ".reqnctapercluster") kernel.cluster = extent;
      if (directive == ".minnctapersm") kernel.minimum_blocks = extent[0];
    }
  }
  return kernels;
}

}  // namespace cubinet
