// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/elf.hpp>
#include <cubinet/base/text.hpp>
#include <cubinet/session/image_report.hpp>
#include <cubinet/session/json.hpp>
#include <cubinet/spec/cubin_elf.hpp>
#include <cubinet/spec/image_target.hpp>
#include <cubinet/spec/ptx.hpp>
#include <cubinet/spec/user_image.hpp>

#include <algorithm>
#include <elf.h>

namespace cubinet {
namespace {

Result<ImageReport> report_ptx(Bytes image) {
  // The driver requires a NUL at the end, which text files do not have.
  if (image.empty() || image.back() != std::byte{0}) image.push_back(std::byte{0});
  CUBINET_TRY_ASSIGN(const PtxInspection inspection, inspect_ptx(image));
  ImageReport report{
      ImageKind::ptx, ImageTarget{inspection.target, ImageKind::ptx}.to_string(), inspection.version, {}};
  CUBINET_TRY_ASSIGN(report.content.kernels, ptx_resources(image));
  report.content.globals = ptx_globals(image);
  return report;
}

template <class Value>
nlohmann::json or_null(const std::optional<Value>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json();
}

nlohmann::json describe_kernel(const KernelResources& kernel, const EntryPoint* entry) {
  nlohmann::json arguments = nlohmann::json::array();
  for (const ArgumentPlace& argument : kernel.arguments)
    arguments.push_back({{"offset", argument.offset}, {"bytes", argument.bytes}});
  return {{"name", kernel.name},
          {"registers", or_null(kernel.registers)},
          {"stack_bytes", or_null(kernel.stack_bytes)},
          {"static_shared_bytes", or_null(kernel.static_shared_bytes)},
          {"dynamic_shared_bytes",
           entry == nullptr ? nlohmann::json() : nlohmann::json(entry->dynamic_shared_bytes)},
          {"argument_bytes", kernel.argument_bytes},
          {"arguments", std::move(arguments)},
          {"max_threads", or_null(kernel.max_threads)},
          {"required_threads", or_null(kernel.required_threads)},
          {"cluster", or_null(kernel.cluster)},
          {"minimum_blocks", or_null(kernel.minimum_blocks)}};
}

nlohmann::json describe_global(const ImageGlobal& global, const CubinRecord* record) {
  const std::string declared = declared_name(global, record);
  return {{"name", global.name},
          {"declared", declared.empty() ? nlohmann::json() : nlohmann::json(declared)},
          {"space", global.space},
          {"bytes", or_null(global.bytes)}};
}

}  // namespace

Result<ImageReport> report_image(const Bytes& image) {
  const std::string_view text = as_text(image);
  if (text.starts_with("\x7f"
                       "ELF")) {
    CUBINET_TRY(refuse_host_file(image));
    CUBINET_TRY_ASSIGN(const CubinInspection inspection, inspect_cubin(image));
    ImageReport report{ImageKind::cubin, inspection.target_name(), {}, {}};
    CUBINET_TRY_ASSIGN(report.content, report_cubin(image));
    CUBINET_TRY_ASSIGN(const ElfImage elf, ElfImage::parse(image));
    report.relocatable = elf.type() == ET_REL;
    return report;
  }
  if (text.find(".version") != std::string_view::npos) return report_ptx(image);
  return Error{ErrorCode::invalid_argument, "it is neither a cubin, nor PTX, nor a fatbinary",
               "name a file of one of these kinds"};
}

const EntryPoint* entry_of(const CubinRecord* record, const std::string& symbol) {
  if (record == nullptr) return nullptr;
  const auto entry = std::find_if(record->entry_points.begin(), record->entry_points.end(),
                                  [&](const EntryPoint& each) { return each.symbol == symbol; });
  return entry == record->entry_points.end() ? nullptr : &*entry;
}

std::string declared_name(const ImageGlobal& global, const CubinRecord* record) {
  if (record == nullptr) return {};
  const auto named = std::find_if(record->globals.begin(), record->globals.end(),
                                  [&](const auto& each) { return each.second == global.name; });
  return named == record->globals.end() ? std::string() : named->first;
}

std::string texts_in(ByteView bytes) {
  constexpr std::size_t kShortest = 4;
  std::vector<std::string> texts;
  std::string text;
  for (const char c : std::string(as_text(bytes)) + '\0') {
    if (c >= ' ' && c <= '~') {
      text += c;
      continue;
    }
    if (text.size() >= kShortest) texts.push_back(text.substr(0, text.find_last_not_of(' ') + 1));
    text.clear();
  }
  return join(texts, "; ");
}

nlohmann::json describe(const ImageReport& report, const CubinRecord* record) {
  nlohmann::json described = record == nullptr ? nlohmann::json::object() : describe(*record);
  described["kind"] = report.kind == ImageKind::ptx ? "ptx" : "cubin";
  described["target"] = report.target;
  described["relocatable"] = report.relocatable;
  if (report.kind == ImageKind::ptx) described["ptx_version"] = report.ptx_version;
  described["kernels"] = nlohmann::json::array();
  for (const KernelResources& kernel : report.content.kernels)
    described["kernels"].push_back(describe_kernel(kernel, entry_of(record, kernel.name)));
  described["globals"] = nlohmann::json::array();
  for (const ImageGlobal& global : report.content.globals)
    described["globals"].push_back(describe_global(global, record));
  described["compatibility"] = nlohmann::json::array();
  for (const CompatibilityNote& note : report.content.compatibility)
    described["compatibility"].push_back(
        {{"tag", note.tag}, {"length", note.value.size()}, {"value", to_hex(note.value)}});
  described["notes"] = nlohmann::json::array();
  for (const ImageNote& note : report.content.notes) {
    described["notes"].push_back({{"section", note.section},
                                  {"owner", note.owner},
                                  {"type", note.type},
                                  {"length", note.value.size()},
                                  {"value", to_hex(note.value)},
                                  {"text", texts_in(note.value)}});
  }
  return described;
}

}  // namespace cubinet
