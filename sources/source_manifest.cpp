// SPDX-License-Identifier: Apache-2.0
#include "cake_manifest.hpp"
#include "manifest_check.hpp"
#include "manifest_values.hpp"

#include <cubinet/base/json_object.hpp>
#include <cubinet/base/text.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>

namespace cubinet {
namespace {

// The beginnings of the names of schemas that cubinet knows in some version.
constexpr std::string_view kOwnFamily = "cubinet.sources.";

Result<std::vector<SourceFile>> own_files(JsonObject& object, std::string_view member,
                                          const std::string& origin) {
  std::vector<SourceFile> files;
  CUBINET_TRY_ASSIGN(const JsonValue::List* items, object.list_or_empty(member));
  for (const JsonValue& item : *items) {
    CUBINET_TRY_ASSIGN(JsonObject file,
                       JsonObject::open(item, origin + ": a file of '" + std::string(member) + "'"));
    CUBINET_TRY_ASSIGN(files.emplace_back(), read_listed_file(file));
    CUBINET_TRY(file.finish());
  }
  std::sort(files.begin(), files.end(),
            [](const SourceFile& a, const SourceFile& b) { return a.path < b.path; });
  return files;
}

Result<SourceKernel> own_kernel(const JsonValue& value, const std::string& origin) {
  const std::string name = printable(value.text_of("name"), kQuotedBytes);
  CUBINET_TRY_ASSIGN(JsonObject object, JsonObject::open(value, origin + ": the kernel '" + name + "'"));
  SourceKernel kernel;
  CUBINET_TRY_ASSIGN(kernel.name, object.text("name"));
  CUBINET_TRY_ASSIGN(kernel.symbol, object.text("symbol"));
  CUBINET_TRY_ASSIGN(kernel.target, read_target(object, "target"));
  CUBINET_TRY_ASSIGN(kernel.source, object.text("source"));
  CUBINET_TRY_ASSIGN(kernel.raw_strings, object.text_or("raw_strings", ""));
  CUBINET_TRY_ASSIGN(kernel.headers, read_texts(object, "headers"));
  CUBINET_TRY_ASSIGN(kernel.flags, read_texts(object, "flags"));
  CUBINET_TRY_ASSIGN(kernel.block, read_extents(object, "block"));
  CUBINET_TRY_ASSIGN(kernel.cluster, read_extents(object, "cluster"));
  CUBINET_TRY_ASSIGN(kernel.dynamic_shared_bytes, read_bytes(object, "dynamic_shared_bytes"));
  CUBINET_TRY_ASSIGN(kernel.cooperative, object.flag_or("cooperative", false));
  CUBINET_TRY_ASSIGN(kernel.programmatic_launch, object.flag_or("programmatic_launch", false));
  CUBINET_TRY(object.finish());
  return kernel;
}

Result<SourceManifest> own_manifest(const JsonValue& document, const std::string& origin) {
  CUBINET_TRY_ASSIGN(JsonObject object, JsonObject::open(document, origin));
  SourceManifest manifest;
  CUBINET_TRY(object.text("schema"));
  CUBINET_TRY_ASSIGN(manifest.name, object.text("name"));
  CUBINET_TRY_ASSIGN(manifest.library, object.text_or("library", ""));
  CUBINET_TRY_ASSIGN(manifest.files, own_files(object, "files", origin));
  CUBINET_TRY_ASSIGN(manifest.licences, own_files(object, "licenses", origin));
  CUBINET_TRY_ASSIGN(const JsonValue::List* kernels, object.list_or_empty("kernels"));
  for (const JsonValue& kernel : *kernels) {
    CUBINET_TRY_ASSIGN(manifest.kernels.emplace_back(), own_kernel(kernel, origin));
  }
  CUBINET_TRY(object.finish());
  return manifest;
}

nlohmann::json describe_listed(const std::vector<SourceFile>& files) {
  nlohmann::json described = nlohmann::json::array();
  for (const SourceFile& file : files)
    described.push_back({{"path", file.path}, {"sha256", file.digest.to_hex()}});
  return described;
}

}  // namespace

Result<SourceManifest> parse_source_manifest(std::string_view text, const std::string& origin) {
  auto document = parse_json(text);
  if (!document) {
    Error error = document.error();
    error.message = origin + ":" + std::to_string(error.native) + ": " + error.message;
    return error;
  }
  const std::string schema = document->text_of("schema");
  Result<SourceManifest> manifest = [&]() -> Result<SourceManifest> {
    if (schema == kSourceSchema) return own_manifest(*document, origin);
    if (is_cake_schema(schema)) return cake_manifest(*document, origin);
    if (schema.empty()) return Error{ErrorCode::unsupported, origin + ": it states no schema"};
    const bool is_ours = schema.starts_with(kOwnFamily) || schema.starts_with(kCakeFamily);
    return Error{is_ours ? ErrorCode::invalid_argument : ErrorCode::unsupported,
                 origin + ": its schema '" + printable(schema, kQuotedBytes) + "' is not known"};
  }();
  if (manifest) CUBINET_TRY(check_manifest(*manifest, origin));
  return manifest;
}

std::string to_json(const SourceManifest& manifest) {
  nlohmann::json kernels = nlohmann::json::array();
  for (const SourceKernel& kernel : manifest.kernels) {
    nlohmann::json one = {{"name", kernel.name},
                          {"symbol", kernel.symbol},
                          {"target", kernel.target.to_string()},
                          {"source", kernel.source},
                          {"headers", kernel.headers},
                          {"flags", kernel.flags},
                          {"block", kernel.block},
                          {"cluster", kernel.cluster},
                          {"dynamic_shared_bytes", kernel.dynamic_shared_bytes},
                          {"cooperative", kernel.cooperative},
                          {"programmatic_launch", kernel.programmatic_launch}};
    if (!kernel.raw_strings.empty()) one["raw_strings"] = kernel.raw_strings;
    kernels.push_back(std::move(one));
  }
  const nlohmann::json document = {{"schema", kSourceSchema},
                                   {"name", manifest.name},
                                   {"library", manifest.library},
                                   {"files", describe_listed(manifest.files)},
                                   {"licenses", describe_listed(manifest.licences)},
                                   {"kernels", std::move(kernels)}};
  return document.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace cubinet
