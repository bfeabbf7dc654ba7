// SPDX-License-Identifier: Apache-2.0
#include <cubinet/attention/tuning_candidates.hpp>
#include <cubinet/base/byte_stream.hpp>
#include <cubinet/base/sha256.hpp>
#include <cubinet/kernel_templates/template_catalog.hpp>

#include <set>

namespace cubinet {
namespace {

// Returns the names of the library headers that a source includes, directly or indirectly.
std::set<std::string> library_headers(const std::string& source) {
  constexpr std::string_view directive = "#include <";
  std::set<std::string> names;
  std::vector<const std::string*> unread = {&source};
  while (!unread.empty()) {
    const std::string& text = *unread.back();
    unread.pop_back();
    for (auto at = text.find(directive); at != std::string::npos; at = text.find(directive, at + 1)) {
      const auto begin = at + directive.size();
      const auto header = embedded_headers().find(text.substr(begin, text.find('>', begin) - begin));
      if (header != embedded_headers().end() && names.insert(header->first).second)
        unread.push_back(&header->second);
    }
  }
  return names;
}

}  // namespace

std::string version_of(const KernelTemplate& kernel_template) {
  ByteWriter text;
  text.string(kernel_template.source());
  text.string(kernel_template.base().text);
  for (const auto& [name, header] : kernel_template.headers()) {
    text.string(name);
    text.string(header);
  }
  for (const std::string& name : library_headers(kernel_template.source())) {
    text.string(name);
    text.string(embedded_headers().at(name));
  }
  return "interface " + std::to_string(kernel_template.interface_version()) + ", text " +
         sha256(text.bytes()).to_hex().substr(0, 16);
}

}  // namespace cubinet
