// SPDX-License-Identifier: Apache-2.0
#include "named_kernels.hpp"

#include <cubinet/base/stopwatch.hpp>

namespace cubinet {
namespace {

// What the loader wants to know of a cubin, from the little that an import states. The size of the arguments
// is left to the driver's own answer.
std::shared_ptr<const CubinRecord> record_of(const PlainKernel& kernel, const Bytes& image) {
  CubinRecord record;
  record.identity = identify(KernelSpec{"imported", {}}.set("function", kernel.function_name), kernel.target);
  record.target = kernel.target;
  record.digest = kernel.digest;
  record.size = image.size();
  EntryPoint entry_point;
  entry_point.name = kernel.function_name;
  entry_point.symbol = kernel.function_name;
  entry_point.threads = kernel.threads;
  entry_point.dynamic_shared_bytes = kernel.shared_bytes;
  record.entry_points.push_back(std::move(entry_point));
  return std::make_shared<const CubinRecord>(std::move(record));
}

Error no_kernel(std::string_view function_name, std::string reason, std::string remedy) {
  return Error{ErrorCode::not_found,
               "the function '" + std::string(function_name.substr(0, 200)) + "' " + std::move(reason),
               std::move(remedy)};
}

}  // namespace

Result<FoundCubin> NamedKernels::find(std::string_view function_name, ComputeCapability device) const {
  const Stopwatch watch;
  const char* const import_it = "import a folder that holds it with `cubinet import-artifacts`";
  if (registry_ == nullptr)
    return no_kernel(function_name, "cannot be looked for: there is no usable home", import_it);
  CUBINET_TRY_ASSIGN(const auto kernels, registry_->artifacts().find_named(function_name));
  if (kernels.empty()) return no_kernel(function_name, "is in no imported folder", import_it);
  for (const SmTarget target : targets_.targets(device)) {
    for (const PlainKernel& kernel : kernels) {
      if (kernel.target != target) continue;
      CUBINET_TRY_ASSIGN(const auto image, registry_->artifacts().load(kernel.digest));
      if (!image) continue;  // logged by the store
      FoundCubin found;
      found.cubin = Cubin{record_of(kernel, **image), *image};
      found.source = KernelSource::imported;
      found.find_seconds = watch.seconds();
      return found;
    }
  }
  std::string there;
  for (const PlainKernel& kernel : kernels) {
    std::string why = why_not_on(kernel.target, device);
    if (why.empty())
      why = targets_.refusal(kernel.target)
                .value_or("the file of its " + kernel.target.to_string() + " build is gone or damaged");
    there += (there.empty() ? "" : "; ") + why;
  }
  return no_kernel(function_name, "has no build for a device of " + device.to_string() + ": " + there,
                   import_it);
}

Function NamedKernels::loaded(std::string_view function_name, int device) const {
  const std::lock_guard lock(mutex_);
  const auto position = functions_.find(std::pair<std::string, int>(function_name, device));
  return position == functions_.end() ? Function() : position->second;
}

void NamedKernels::store(std::string_view function_name, int device, const Function& function) {
  const std::lock_guard lock(mutex_);
  functions_.insert_or_assign({std::string(function_name), device}, function);
}

}  // namespace cubinet
