// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/text.hpp>
#include <cubinet/sources/source_catalogs.hpp>

#include <algorithm>
#include <set>

namespace cubinet {
namespace {

constexpr const char* kRule =
    "------------------------------------------------------------------------------\n";

// Returns the comments that a source begins with.
std::string first_comment(std::string_view text) {
  std::string comment;
  for (;;) {
    const std::size_t begin = std::min(text.find_first_not_of(" \t\r\n"), text.size());
    text.remove_prefix(begin);
    const bool is_block = text.starts_with("/*");
    if (!is_block && !text.starts_with("//")) return comment;
    const std::size_t found = is_block ? text.find("*/", 2) : text.find('\n');
    const std::size_t end = found == std::string_view::npos ? text.size() : found + (is_block ? 2 : 0);
    comment += std::string(text.substr(0, end)) + "\n";
    text.remove_prefix(end);
  }
}

// The texts of licences, each with what it is for. A text that several files have is listed once.
using Texts = std::map<std::string, std::set<std::string>>;

void append_texts(std::string& document, const Texts& texts) {
  for (const auto& [text, subjects] : texts) {
    document += "\n" + std::string(kRule);
    for (const std::string& subject : subjects)
      document += subject + "\n";
    document += kRule + printable_lines(text);
    if (!text.ends_with('\n')) document += "\n";
  }
}

}  // namespace

Result<std::string> licences_of(const std::vector<SourceManifest>& manifests,
                                const std::vector<std::string>& kernels, const SourceCatalogs& catalogs) {
  Texts licences;
  Texts comments;
  std::string summary;
  for (const SourceManifest& manifest : manifests) {
    std::vector<std::string> built;
    for (const SourceKernel& kernel : manifest.kernels) {
      if (std::find(kernels.begin(), kernels.end(), kernel.name) == kernels.end()) continue;
      built.push_back(kernel.name);
      CUBINET_TRY_ASSIGN(const Bytes source, catalogs.read(*manifest.find(kernel.source)));
      if (std::string comment = first_comment(as_text(source)); !comment.empty())
        comments[std::move(comment)].insert(kernel.name);
    }
    if (built.empty()) continue;
    const std::string library = printable(manifest.library);
    summary += "\n" + manifest.name + " of " + library + ": " + plural(built.size(), "kernel") +
               (manifest.licences.empty() ? ", without a file of a licence\n" : "\n");
    for (const std::string& name : built)
      summary += "  " + name + "\n";
    for (const SourceFile& licence : manifest.licences) {
      CUBINET_TRY_ASSIGN(const Bytes text, catalogs.read(licence));
      licences[std::string(as_text(text))].insert(licence.path + " of " + library);
    }
  }
  if (summary.empty()) return std::string();
  std::string document = "The bundle has kernels that were compiled from these sources:\n" + summary;
  document += "\nLicences and notices that came with the sources:\n";
  append_texts(document, licences);
  document += "\nFirst comments of the sources:\n";
  append_texts(document, comments);
  return document;
}

}  // namespace cubinet
