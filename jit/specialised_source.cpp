// SPDX-License-Identifier: Apache-2.0
#include "include_closure.hpp"

#include <cubinet/jit/compiler.hpp>
#include <cubinet/kernel_templates/template_catalog.hpp>

#include <map>
#include <set>

namespace cubinet {
namespace {

// Replaces the first #include of each header in memory by its text, as `#pragma once` would. Other
// includes stay.
class Inliner {
 public:
  explicit Inliner(const std::string& parameters_header) : parameters_header_(parameters_header) {}

  void append(std::string_view text, bool is_header) {
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
      append_line(text.substr(0, end), is_header);
      text.remove_prefix(end);
    }
    if (!out_.empty() && out_.back() != '\n') out_ += '\n';
  }
  std::string take() { return std::move(out_); }

 private:
  void append_line(std::string_view line, bool is_header) {
    if (is_header && line.starts_with("#pragma once")) return;
    const std::string name = included_by(line);
    const std::string* content = content_of(name);
    if (content == nullptr) {
      out_ += line;
    } else if (seen_.insert(name).second) {
      out_ += "// <" + name + ">\n";
      append(*content, true);
    }
  }

  static std::string included_by(std::string_view line) {
    constexpr std::string_view kDirective = "#include <";
    if (!line.starts_with(kDirective)) return {};
    line.remove_prefix(kDirective.size());
    return std::string(line.substr(0, line.find('>')));
  }

  const std::string* content_of(const std::string& name) const {
    if (name == kParametersHeaderName) return &parameters_header_;
    const auto found = embedded_headers().find(name);
    return found == embedded_headers().end() ? nullptr : &found->second;
  }

  const std::string& parameters_header_;
  std::set<std::string> seen_;
  std::string out_;
};

}  // namespace

Result<std::string> specialised_source(const CompileRequest& request) {
  if (request.kernel_template == nullptr)
    return Error{ErrorCode::invalid_argument, "a request names no template"};
  if (!request.kernel_template->linked_sources().empty()) {
    return Error{ErrorCode::unsupported, "'" + request.kernel_template->name() +
                                             "' is linked from several sources: no one file has all"};
  }
  CUBINET_TRY_ASSIGN(const KernelSpec spec, request.kernel_template->resolve(request.spec));
  CUBINET_TRY_ASSIGN(const std::string header, request.kernel_template->parameters_header(spec));
  Inliner inliner(header);
  inliner.append("// " + spec.to_string() + " for " + request.target.to_string() + "\n", false);
  for (const Prelude& prelude : request.kernel_template->preludes())
    inliner.append(prelude.text, true);
  inliner.append(request.kernel_template->source(), false);
  return inliner.take();
}

}  // namespace cubinet
