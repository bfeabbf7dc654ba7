// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>
#include <cubinet/kernel_table/kernel_row.hpp>
#include <cubinet/kernel_templates/template_catalog.hpp>
#include <cubinet/spec/kernel_key.hpp>

#include <cstddef>
#include <memory>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

namespace cubinet {

// A kernel of a template, with everything that the template declares about it.
struct DeclaredKernel {
  KernelSpec spec;  // complete
  KernelRow row;    // without a build's members
  std::vector<EntryPoint> entry_points;
};

// The declarations of the kernels that plans ask for. They depend on the specification alone, and
// evaluating them takes most of the time of a plan, so they are kept. Thread-safe.
class DeclaredKernels {
 public:
  // The most kernels that are kept, about 2 KiB each. Further ones are evaluated at each request.
  static constexpr std::size_t kMaximum = 4096;
  // The longest encoding of a specification that is kept. Those of the templates are shorter.
  static constexpr std::size_t kLongestEncoding = 1024;

  explicit DeclaredKernels(TemplateCatalog catalog) : catalog_(std::move(catalog)) {}

  const TemplateCatalog& catalog() const { return catalog_; }
  // Returns the kernel of a specification, whose missing parameters get their defaults. Returns the
  // error of the catalog or the template if there is none, and `internal` if the template declares
  // no row.
  Result<std::shared_ptr<const DeclaredKernel>> find(const KernelSpec& spec) const;
  std::size_t size() const;

 private:
  struct HashId {
    std::size_t operator()(const KernelId& id) const { return static_cast<std::size_t>(id.hash()); }
  };

  TemplateCatalog catalog_;
  mutable std::shared_mutex mutex_;
  mutable std::unordered_map<KernelId, Result<std::shared_ptr<const DeclaredKernel>>, HashId> kernels_;
};

}  // namespace cubinet
