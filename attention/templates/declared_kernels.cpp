// SPDX-License-Identifier: Apache-2.0
#include "declared_kernels.hpp"

#include <mutex>

namespace cubinet {
namespace {

Result<std::shared_ptr<const DeclaredKernel>> evaluate(const TemplateCatalog& catalog,
                                                       const KernelSpec& spec) {
  CUBINET_TRY_ASSIGN(const auto kernel_template, catalog.find(spec.name));
  auto declared = std::make_shared<DeclaredKernel>();
  CUBINET_TRY_ASSIGN(declared->spec, kernel_template->resolve(spec));
  CUBINET_TRY_ASSIGN(auto row, kernel_template->row(declared->spec));
  if (!row) return Error{ErrorCode::internal, "the template " + spec.name + " does not declare its row"};
  declared->row = *std::move(row);
  CUBINET_TRY_ASSIGN(declared->entry_points, kernel_template->entry_points(declared->spec));
  return std::shared_ptr<const DeclaredKernel>(std::move(declared));
}

}  // namespace

Result<std::shared_ptr<const DeclaredKernel>> DeclaredKernels::find(const KernelSpec& spec) const {
  KernelId id = identify(spec);
  {
    const std::shared_lock lock(mutex_);
    if (const auto kept = kernels_.find(id); kept != kernels_.end()) return kept->second;
  }
  auto kernel = evaluate(catalog_, spec);
  // Specifications may come from files, so unknown templates and long texts are not kept.
  if (!catalog_.find(spec.name) || id.encoding().size() > kLongestEncoding) return kernel;
  const std::unique_lock lock(mutex_);
  if (kernels_.size() < kMaximum) kernels_.emplace(std::move(id), kernel);
  return kernel;
}

std::size_t DeclaredKernels::size() const {
  const std::shared_lock lock(mutex_);
  return kernels_.size();
}

}  // namespace cubinet
