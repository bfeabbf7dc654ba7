// SPDX-License-Identifier: Apache-2.0
#include "manifest_check.hpp"

#include <cubinet/base/text.hpp>
#include <cubinet/kernel_templates/launch_limits.hpp>
#include <cubinet/sources/compile_line.hpp>

#include <algorithm>
#include <set>

namespace cubinet {
namespace {

constexpr std::size_t kMaximumNameBytes = 128;
constexpr std::size_t kMaximumPathBytes = 1024;
constexpr std::size_t kMaximumManifestKernels = 10'000;
constexpr const char* kUnitName = "kernel.cu";

Error wrong_manifest(const std::string& origin, const std::string& reason) {
  return Error{ErrorCode::invalid_argument, origin + ": " + reason};
}

std::string in_quotes(std::string_view text) {
  return "'" + printable(text, kQuotedBytes) + "'";
}

// Returns whether the name may be a file's name and an argument of a command.
bool is_plain_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaximumNameBytes && name.front() != '.' && name.front() != '-' &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return is_word_character(c) || c == '.' || c == '-'; });
}

bool is_symbol(std::string_view name) {
  return !name.empty() && name.size() <= kMaximumPathBytes && !(name.front() >= '0' && name.front() <= '9') &&
         std::all_of(name.begin(), name.end(), is_word_character);
}

// Returns whether the path stays in its folder, whatever the folder contains besides links.
bool stays_inside(std::string_view path) {
  if (path.empty() || path.size() > kMaximumPathBytes || !is_printable(path)) return false;
  if (path.find('\\') != std::string_view::npos) return false;
  for (;;) {
    const std::size_t end = path.find('/');
    const std::string_view part = path.substr(0, end);
    if (part.empty() || part == "." || part == "..") return false;
    if (end == std::string_view::npos) return true;
    path.remove_prefix(end + 1);
  }
}

Result<void> check_files(const SourceManifest& manifest, const std::string& origin) {
  std::set<std::string_view> paths;
  for (const std::vector<SourceFile>* list : {&manifest.files, &manifest.licences}) {
    for (const SourceFile& file : *list) {
      if (!stays_inside(file.path))
        return wrong_manifest(origin, "the path " + in_quotes(file.path) + " leaves its folder");
      if (!paths.insert(file.path).second)
        return wrong_manifest(origin, "the file " + in_quotes(file.path) + " is listed twice");
    }
  }
  return {};
}

Result<void> check_launch(const SourceKernel& kernel, const std::string& where) {
  if (std::count(kernel.block.begin(), kernel.block.end(), 0U) > 0)
    return wrong_manifest(where, "its block has no threads");
  if (std::count(kernel.cluster.begin(), kernel.cluster.end(), 0U) > 0)
    return wrong_manifest(where, "its cluster has no blocks");
  const auto launched = check_launch_limits(entry_point_of(kernel), "it", {kernel.target, ImageKind::cubin});
  return launched ? Result<void>() : wrong_manifest(where, launched.error().message);
}

Result<void> check_kernel(const std::set<std::string_view>& listed, const SourceKernel& kernel,
                          const std::string& where) {
  if (!is_symbol(kernel.symbol))
    return wrong_manifest(where, in_quotes(kernel.symbol) + " is no symbol of a kernel");
  if (!std::all_of(kernel.raw_strings.begin(), kernel.raw_strings.end(), is_word_character) ||
      kernel.raw_strings.size() > 16)
    return wrong_manifest(where, in_quotes(kernel.raw_strings) + " is no delimiter of raw strings");
  std::vector<std::string> paths = kernel.headers;
  paths.push_back(kernel.source);
  for (const std::string& path : paths) {
    if (!listed.contains(path))
      return wrong_manifest(where, "its file " + in_quotes(path) + " is not among the listed files");
  }
  CUBINET_TRY(check_launch(kernel, where));
  if (const auto flags = compiler_flags_of(kernel); !flags)
    return wrong_manifest(where, flags.error().message);
  return {};
}

}  // namespace

Result<void> check_manifest(const SourceManifest& manifest, const std::string& origin) {
  if (!is_plain_name(manifest.name))
    return wrong_manifest(origin, in_quotes(manifest.name) + " is no name of a catalog");
  if (manifest.kernels.empty()) return wrong_manifest(origin, "it has no kernels");
  if (manifest.kernels.size() > kMaximumManifestKernels)
    return wrong_manifest(origin, "it has more than 10000 kernels");
  CUBINET_TRY(check_files(manifest, origin));
  std::set<std::string_view> listed;
  for (const SourceFile& file : manifest.files)
    listed.insert(file.path);
  std::set<std::string_view> names;
  for (const SourceKernel& kernel : manifest.kernels) {
    if (!is_plain_name(kernel.name))
      return wrong_manifest(origin, in_quotes(kernel.name) + " is no name of a kernel");
    if (!names.insert(kernel.name).second)
      return wrong_manifest(origin, "the kernel '" + kernel.name + "' is named twice");
    CUBINET_TRY(check_kernel(listed, kernel, origin + ": the kernel '" + kernel.name + "'"));
  }
  return {};
}

const SourceFile* SourceManifest::find(std::string_view path) const {
  for (const std::vector<SourceFile>* list : {&files, &licences}) {
    for (const SourceFile& file : *list) {
      if (file.path == path) return &file;
    }
  }
  return nullptr;
}

EntryPoint entry_point_of(const SourceKernel& kernel) {
  EntryPoint entry;
  entry.name = kernel.symbol;
  entry.symbol = kernel.symbol;
  entry.threads = kernel.block[0];
  entry.threads_y = kernel.block[1];
  entry.threads_z = kernel.block[2];
  entry.dynamic_shared_bytes = kernel.dynamic_shared_bytes;
  entry.cluster = kernel.cluster;
  entry.programmatic_launch = kernel.programmatic_launch;
  entry.cooperative = kernel.cooperative;
  return entry;
}

Result<std::vector<std::string>> compiler_flags_of(const SourceKernel& kernel) {
  // The flags are last, so that one without its value does not take the next argument.
  std::vector<std::string> arguments = {"--cubin", kUnitName};
  if (!states_architecture(kernel.flags)) arguments.push_back("-arch=" + kernel.target.to_string());
  arguments.insert(arguments.end(), kernel.flags.begin(), kernel.flags.end());
  const auto refused = [](const std::string& reason) {
    return Error{ErrorCode::invalid_argument, "of its flags, " + reason};
  };
  auto line = parse_compile_line(arguments);
  if (!line) return refused(line.error().message);
  if (line->target != kernel.target)
    return refused("the architecture is " + line->target.to_string() + ", and the target is " +
                   kernel.target.to_string());
  if (!line->include_directories.empty()) return refused("one names a folder of headers");
  if (line->output != "kernel.cubin") return refused("one names an output");
  return std::move(line->flags);
}

}  // namespace cubinet
