// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/byte_stream.hpp>
#include <cubinet/kernel_templates/kernel_template.hpp>
#include <cubinet/kernel_templates/template_catalog.hpp>

#include <set>

namespace cubinet {
namespace {

// Adds the names of the library headers that a text includes, directly or indirectly.
void add_library_headers(const std::string& text, std::set<std::string>& names) {
  constexpr std::string_view directive = "#include <";
  std::vector<const std::string*> unread = {&text};
  while (!unread.empty()) {
    const std::string& next = *unread.back();
    unread.pop_back();
    for (auto at = next.find(directive); at != std::string::npos; at = next.find(directive, at + 1)) {
      const auto begin = at + directive.size();
      const auto header = embedded_headers().find(next.substr(begin, next.find('>', begin) - begin));
      if (header != embedded_headers().end() && names.insert(header->first).second)
        unread.push_back(&header->second);
    }
  }
}

void add_text(const KernelTemplate& kernel_template, ByteWriter& text, std::set<std::string>& library) {
  text.string(kernel_template.source());
  text.string(kernel_template.base().text);
  add_library_headers(kernel_template.source(), library);
  for (const auto& [name, header] : kernel_template.headers()) {
    text.string(name);
    text.string(header);
    add_library_headers(header, library);
  }
  for (const Prelude& prelude : kernel_template.preludes()) {
    text.string(prelude.name);
    text.string(prelude.text);
    add_library_headers(prelude.text, library);
  }
  for (const auto& linked : kernel_template.linked_sources())
    add_text(*linked, text, library);
}

}  // namespace

const Sha256Digest& KernelTemplate::text_digest() const {
  std::call_once(text_hashed_, [this] {
    ByteWriter text;
    std::set<std::string> library;
    add_text(*this, text, library);
    for (const std::string& name : library) {
      text.string(name);
      text.string(embedded_headers().at(name));
    }
    text_digest_ = sha256(text.bytes());
  });
  return text_digest_;
}

}  // namespace cubinet
