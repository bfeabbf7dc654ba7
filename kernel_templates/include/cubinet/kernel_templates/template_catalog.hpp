// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/kernel_templates/kernel_template.hpp>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

// The headers that templates may include as <cubinet/…>: embedded in the library, never read from disk. Name
// to content.
const std::map<std::string, std::string, std::less<>>& embedded_headers();

// Templates by name. A value with shared immutable contents: copying is cheap, adding to one copy does not
// show in another. Const use is thread-safe.
class TemplateCatalog {
 public:
  // The templates that come with the library.
  static Result<TemplateCatalog> builtin();

  // invalid_argument when a template of that name is there already.
  Result<void> add(std::shared_ptr<const KernelTemplate> kernel_template);
  // not_found lists the names that there are, the nearest first.
  Result<std::shared_ptr<const KernelTemplate>> find(std::string_view name) const;
  std::vector<std::shared_ptr<const KernelTemplate>> list() const;  // by name

 private:
  std::map<std::string, std::shared_ptr<const KernelTemplate>, std::less<>> templates_;
};

}  // namespace cubinet
