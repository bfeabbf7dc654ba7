// SPDX-License-Identifier: Apache-2.0
#include "cake_manifest.hpp"

#include "manifest_values.hpp"

#include <cubinet/base/text.hpp>

#include <algorithm>
#include <map>
#include <set>

namespace cubinet {
namespace {

constexpr std::string_view kSeparateUnits = "separate_device_and_binding";

// Returns the object that is a member of another one.
Result<JsonObject> member_object(JsonObject& object, std::string_view member, const std::string& where) {
  CUBINET_TRY_ASSIGN(const JsonValue* value, object.get(member));
  return JsonObject::open(*value, where + ": '" + std::string(member) + "'");
}

// A listed file: its digest, and whether it belongs to the host's code.
struct CakeFile {
  SourceFile file;
  bool is_binding = false;
};
using CakeFiles = std::map<std::string, CakeFile, std::less<>>;

Result<CakeFiles> cake_files(JsonObject& manifest, const std::string& origin) {
  CakeFiles files;
  CUBINET_TRY_ASSIGN(const JsonValue::List* items, manifest.list_or_empty("files"));
  for (const JsonValue& item : *items) {
    CUBINET_TRY_ASSIGN(JsonObject object, JsonObject::open(item, origin + ": a file of 'files'"));
    CUBINET_TRY_ASSIGN(SourceFile file, read_listed_file(object));
    CUBINET_TRY_ASSIGN(const std::string kind, object.text("kind"));
    const std::string path = file.path;
    const bool is_binding = kind.find("binding") != std::string::npos;
    if (!files.emplace(path, CakeFile{std::move(file), is_binding}).second)
      return object.error("'" + printable(path, kQuotedBytes) + "' is listed twice");
  }
  return files;
}

// Adds the files that a module consists of to its kernel. Returns how many of them have another
// digest in 'files'. FlashInfer formats sources after their export and then changes 'files' alone,
// which is also what its own loader compares with the bytes.
Result<std::size_t> read_closure(JsonObject& module, const CakeFiles& files, const std::string& where,
                                 SourceKernel& kernel) {
  std::set<std::string> paths;
  std::size_t differing = 0;
  CUBINET_TRY_ASSIGN(const JsonValue::List* items, module.list_or_empty("closure"));
  for (const JsonValue& item : *items) {
    CUBINET_TRY_ASSIGN(JsonObject object, JsonObject::open(item, where + ": a file of 'closure'"));
    CUBINET_TRY_ASSIGN(const SourceFile file, read_listed_file(object));
    const std::string shown = "'" + printable(file.path, kQuotedBytes) + "'";
    const auto listed = files.find(file.path);
    if (listed == files.end()) return object.error(shown + " is not in 'files'");
    if (listed->second.file.digest != file.digest) ++differing;
    if (!paths.insert(file.path).second) return object.error(shown + " occurs twice");
    if (file.path != kernel.source && !listed->second.is_binding) kernel.headers.push_back(file.path);
  }
  if (paths.contains(kernel.source)) return differing;
  return module.error("its device source is not in 'closure'");
}

Result<void> read_launch(JsonObject launch, SourceKernel& kernel) {
  CUBINET_TRY_ASSIGN(kernel.block, read_extents(launch, "block"));
  CUBINET_TRY_ASSIGN(kernel.cluster, read_extents(launch, "cluster"));
  CUBINET_TRY_ASSIGN(kernel.dynamic_shared_bytes, read_bytes(launch, "dynamic_smem_bytes"));
  CUBINET_TRY_ASSIGN(kernel.cooperative, launch.flag_or("cooperative", false));
  CUBINET_TRY_ASSIGN(kernel.programmatic_launch, launch.flag_or("use_pdl", false));
  return {};
}

Result<SourceKernel> cake_kernel(const JsonValue& value, const CakeFiles& files, const std::string& origin,
                                 std::size_t& differing) {
  const std::string where = origin + ": the module '" + printable(value.text_of("name"), kQuotedBytes) + "'";
  CUBINET_TRY_ASSIGN(JsonObject module, JsonObject::open(value, where));
  SourceKernel kernel;
  CUBINET_TRY_ASSIGN(kernel.name, module.text("name"));
  CUBINET_TRY_ASSIGN(kernel.symbol, module.text("kernel_symbol"));
  CUBINET_TRY_ASSIGN(kernel.target, read_target(module, "arch"));
  CUBINET_TRY_ASSIGN(JsonObject units, member_object(module, "translation_units", where));
  CUBINET_TRY_ASSIGN(kernel.source, units.text("device"));
  CUBINET_TRY_ASSIGN(const std::size_t count, read_closure(module, files, where, kernel));
  differing += count;
  CUBINET_TRY_ASSIGN(kernel.flags, read_texts(module, "compile_flags"));
  CUBINET_TRY_ASSIGN(JsonObject launch, member_object(module, "launch", where));
  CUBINET_TRY(read_launch(std::move(launch), kernel));
  return kernel;
}

bool is_python(const JsonValue& module) {
  const JsonValue* units = module.find("translation_units");
  return units != nullptr && units->text_of("device").ends_with(".py");
}

}  // namespace

bool is_cake_schema(std::string_view schema) {
  return schema == "cake.library_export.v1" || schema == "cake.library_export.v5";
}

Result<SourceManifest> cake_manifest(const JsonValue& document, const std::string& origin) {
  CUBINET_TRY_ASSIGN(JsonObject object, JsonObject::open(document, origin));
  CUBINET_TRY_ASSIGN(const JsonValue::List* modules, object.list_or_empty("modules"));
  if (!modules->empty() && std::all_of(modules->begin(), modules->end(), is_python))
    return Error{ErrorCode::unsupported, origin + ": its sources are Python"};
  CUBINET_TRY_ASSIGN(const std::string kind, object.text("artifact_kind"));
  if (kind != "source_only") return object.error_at("artifact_kind", "'artifact_kind' is not known");
  CUBINET_TRY_ASSIGN(JsonObject build, member_object(object, "build_contract", origin));
  CUBINET_TRY_ASSIGN(const std::string model, build.text("translation_unit_model"));
  if (model != kSeparateUnits)
    return build.error_at("translation_unit_model", "'translation_unit_model' is not known");
  SourceManifest manifest;
  CUBINET_TRY_ASSIGN(manifest.name, object.text("name"));
  CUBINET_TRY_ASSIGN(manifest.library, object.text("library"));
  CUBINET_TRY_ASSIGN(const CakeFiles files, cake_files(object, origin));
  for (const auto& [path, listed] : files)
    manifest.files.push_back(listed.file);
  for (const JsonValue& module : *modules) {
    CUBINET_TRY_ASSIGN(manifest.kernels.emplace_back(),
                       cake_kernel(module, files, origin, manifest.differing_digests));
  }
  return manifest;
}

}  // namespace cubinet
