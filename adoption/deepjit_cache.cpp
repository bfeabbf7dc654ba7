// SPDX-License-Identifier: Apache-2.0
#include "cache_tool.hpp"

#include <cubinet/base/json_value.hpp>
#include <cubinet/base/text.hpp>
#include <cubinet/spec/cubin_elf.hpp>
#include <cubinet/spec/image_check.hpp>

#include <algorithm>
#include <iterator>

namespace cubinet {
namespace {

constexpr std::string_view kCubin = "kernel.cubin";
constexpr std::string_view kMetadata = "meta.json";
constexpr std::string_view kCommitted = ".committed";
constexpr std::string_view kFiles[] = {kCommitted,   "kernel.cu",   kCubin,
                                       "kernel.ptx", "kernel.sass", kMetadata};

// Returns whether the name is "<tag>.<32 digits>": the caller's name of the kernel, and the FNV-1a
// of its inputs.
bool is_deepjit_entry(std::string_view name) {
  const std::size_t dot = name.find('.');
  return dot != std::string_view::npos && dot > 0 &&
         std::all_of(name.begin(), name.begin() + static_cast<std::ptrdiff_t>(dot), is_word_character) &&
         is_lower_hex(name.substr(dot + 1), 32);
}

// Returns the text of a member's member; "" if there is none.
std::string nested_text(const JsonValue& value, const char* outer, const char* inner) {
  const JsonValue* object = value.find(outer);
  return object != nullptr ? object->text_of(inner) : "";
}

Result<EntryFacts> read_deepjit_entry(std::string_view /*entry*/, std::vector<CacheFile>& files) {
  for (const CacheFile& file : files) {
    if (std::find(std::begin(kFiles), std::end(kFiles), file.name) == std::end(kFiles))
      return not_taken("DeepJIT makes no '" + printable(file.name) + "'");
  }
  const CacheFile* committed = find_file(files, kCommitted);
  const CacheFile* cubin = find_file(files, kCubin);
  const CacheFile* metadata = find_file(files, kMetadata);
  if (committed == nullptr || cubin == nullptr || metadata == nullptr)
    return not_taken("it is not finished: of .committed, kernel.cubin and meta.json one is missing");
  if (!committed->content.empty()) return not_taken(".committed holds something");
  CUBINET_TRY_ASSIGN(const JsonValue said, parse_json(as_text(metadata->content)));
  if (!said.is_object()) return not_taken("meta.json holds no object");
  CUBINET_TRY_ASSIGN(EntryFacts facts, read_cubin(cubin->content));
  CUBINET_TRY_ASSIGN(const SmTarget stated,
                     SmTarget::parse("sm_" + nested_text(said, "compiler_options", "arch")));
  CUBINET_TRY(check_cubin(cubin->content, stated, {}));
  facts.target = stated;
  const std::string release = toolkit_release(nested_text(said, "compiler_info", "version"));
  if (!release.empty()) facts.toolchain = "CUDA " + release;
  return facts;
}

}  // namespace

const CacheTool kDeepJitCache{
    .name = "deepjit", .entries = "cache", .is_entry = is_deepjit_entry, .read = read_deepjit_entry};

}  // namespace cubinet
