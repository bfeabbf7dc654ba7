// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/kernel_templates/kernel_template.hpp>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

// Returns the text of each header that templates may include as <cubinet/…>, by name. The headers
// are embedded in the library and never read from disk.
const std::map<std::string, std::string, std::less<>>& embedded_headers();

// A set of templates with unique names. A value: copies are cheap and independent. Const use is
// thread-safe.
class TemplateCatalog {
 public:
  // Returns the library's own templates.
  static Result<TemplateCatalog> builtin();

  // Returns invalid_argument if the catalog already has a template of this name.
  Result<void> add(std::shared_ptr<const KernelTemplate> kernel_template);
  // Returns not_found with the existing names, nearest first, if there is no such template.
  Result<std::shared_ptr<const KernelTemplate>> find(std::string_view name) const;
  std::vector<std::shared_ptr<const KernelTemplate>> list() const;  // sorted by name

 private:
  std::map<std::string, std::shared_ptr<const KernelTemplate>, std::less<>> templates_;
};

}  // namespace cubinet
