// SPDX-License-Identifier: Apache-2.0
#include "describe_image.hpp"

#include "describe.hpp"

#include <cubinet/base/text.hpp>

#include <fmt/format.h>

namespace cubinet::cli {
namespace {

struct OtherKind {
  std::string_view magic;
  const char* name;
  const char* remedy;
};
constexpr OtherKind kOtherKinds[] = {
    {"CBUN", "a bundle", "`cubinet bundle list` prints its keys; inspect KEY --bundle FILE"},
    {"CREC", "the record of a cubin", "name the cubin beside it"},
    {"CENT", "an entry of another compiler's cache", "inspect KEY, of the home or with --bundle FILE"},
};

std::string global_text(const ImageGlobal& global, const CubinRecord* record) {
  const std::string declared = declared_name(global, record);
  return fmt::format("\n  variable     {}: {}{} memory{}", printable(global.name),
                     global.bytes ? fmt::format("{} bytes of ", *global.bytes) : "", global.space,
                     declared.empty() || declared == global.name ? "" : ", " + printable(declared));
}

std::string extent(const KernelResources::Extent& extent) {
  return fmt::format("{}x{}x{}", extent[0], extent[1], extent[2]);
}

std::string kernel_text(const KernelResources& kernel, const EntryPoint* entry) {
  std::vector<std::string> parts;
  if (kernel.registers) parts.push_back(fmt::format("{} registers", *kernel.registers));
  if (kernel.stack_bytes) parts.push_back(fmt::format("{} bytes of stack", *kernel.stack_bytes));
  if (kernel.static_shared_bytes)
    parts.push_back(fmt::format("{} bytes of static shared memory", *kernel.static_shared_bytes));
  if (entry != nullptr) parts.push_back(fmt::format("{} of dynamic", entry->dynamic_shared_bytes));
  parts.push_back(fmt::format("{} bytes of arguments", kernel.argument_bytes));
  if (kernel.max_threads) parts.push_back("at most " + extent(*kernel.max_threads) + " threads");
  if (kernel.required_threads) parts.push_back(extent(*kernel.required_threads) + " threads");
  if (kernel.minimum_blocks)
    parts.push_back(fmt::format("{} blocks a multiprocessor", *kernel.minimum_blocks));
  if (kernel.cluster) parts.push_back("clusters of " + extent(*kernel.cluster));
  std::string text = fmt::format("\n  kernel       {}: {}", printable(kernel.name), join(parts));
  if (kernel.arguments.size() < 2) return text;
  std::vector<std::string> places;
  for (const ArgumentPlace& argument : kernel.arguments)
    places.push_back(fmt::format("{}+{}", argument.offset, argument.bytes));
  return text + "\n    arguments  " + join(places);
}

}  // namespace

Result<ImageReport> inspect_image(const Bytes& image) {
  for (const OtherKind& other : kOtherKinds) {
    if (as_text(image).starts_with(other.magic))
      return Error{ErrorCode::invalid_argument, std::string("it is ") + other.name + ", and no cubin or PTX",
                   other.remedy};
  }
  return report_image(image);
}

std::string to_text(const ImageReport& report, const CubinRecord* record) {
  std::string text = fmt::format("  target       {}", printable(report.target));
  if (report.kind == ImageKind::ptx) text += fmt::format(", PTX {}", printable(report.ptx_version));
  if (report.relocatable) text += ", relocatable: to be linked before it is loaded";
  if (record != nullptr) {
    text += fmt::format("\n  key          {}\n  of           {}", record->identity.key().to_string(),
                        kernel_title(*record));
  }
  for (const KernelResources& kernel : report.content.kernels)
    text += kernel_text(kernel, entry_of(record, kernel.name));
  for (const ImageGlobal& global : report.content.globals)
    text += global_text(global, record);
  for (const CompatibilityNote& note : report.content.compatibility)
    text += fmt::format("\n  compatible   tag {}, length {}, value {}", note.tag, note.value.size(),
                        to_hex(note.value));
  for (const ImageNote& note : report.content.notes) {
    const std::string words = texts_in(note.value);
    text += fmt::format("\n  note         {}, type {}, length {}: {}", printable(note.section), note.type,
                        note.value.size(), words.empty() ? to_hex(note.value) : words);
  }
  return text;
}

}  // namespace cubinet::cli
