// SPDX-License-Identifier: Apache-2.0
#include "embedded_files.hpp"
#include "names.hpp"

#include <cubinet/base/text.hpp>
#include <cubinet/kernel_templates/template_catalog.hpp>

namespace cubinet {

const std::map<std::string, std::string, std::less<>>& embedded_headers() {
  static const auto headers = [] {
    std::map<std::string, std::string, std::less<>> by_name;
    for (const EmbeddedFile& file : embedded_header_files())
      by_name.emplace(file.name, file.text());
    return by_name;
  }();
  return headers;
}

namespace {

Result<std::string> embedded_text(const std::string& name) {
  for (const EmbeddedFile& file : embedded_template_files()) {
    if (file.name == name) return std::string(file.text());
  }
  return Error{ErrorCode::internal, "the file is not embedded"};
}

}  // namespace

Result<TemplateCatalog> TemplateCatalog::builtin() {
  // The templates are read once, because every Runtime and every attention planner has a catalog.
  static const Result<TemplateCatalog> read = []() -> Result<TemplateCatalog> {
    TemplateCatalog catalog;
    for (const EmbeddedFile& file : embedded_template_files()) {
      if (!file.name.ends_with(".cu")) continue;  // a base of declarations
      CUBINET_TRY_ASSIGN(auto parsed,
                         KernelTemplate::parse(std::string(file.text()), file.name, {}, {}, embedded_text));
      CUBINET_TRY(catalog.add(std::move(parsed)));
    }
    return catalog;
  }();
  return read;
}

Result<void> TemplateCatalog::add(std::shared_ptr<const KernelTemplate> kernel_template) {
  if (kernel_template == nullptr) return Error{ErrorCode::invalid_argument, "no template was given"};
  const std::string name = kernel_template->name();
  if (!templates_.emplace(name, std::move(kernel_template)).second) {
    return Error{ErrorCode::invalid_argument, "there is a template '" + name + "' already",
                 "give the new one another name"};
  }
  return {};
}

Result<std::shared_ptr<const KernelTemplate>> TemplateCatalog::find(std::string_view name) const {
  const auto found = templates_.find(name);
  if (found != templates_.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [known, kernel_template] : templates_)
    names.push_back(known);
  return Error{
      ErrorCode::not_found, "there is no template '" + printable(name, kQuotedBytes) + "'",
      names.empty() ? "the catalogue is empty" : "there are " + join(nearest_first(names, name), ", ")};
}

std::vector<std::shared_ptr<const KernelTemplate>> TemplateCatalog::list() const {
  std::vector<std::shared_ptr<const KernelTemplate>> all;
  for (const auto& [name, kernel_template] : templates_)
    all.push_back(kernel_template);
  return all;
}

}  // namespace cubinet
