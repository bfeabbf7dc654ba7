// SPDX-License-Identifier: Apache-2.0
#include "deferred_calls.hpp"
#include "image_bytes.hpp"
#include "kernel_subject.hpp"
#include "loaded_function.hpp"
#include "loaded_image.hpp"
#include "toolchain_error.hpp"

#include <cubinet/loader/module.hpp>
#include <cubinet/spec/image_check.hpp>

#include <deque>

namespace cubinet {
namespace {

// Members are destroyed in reverse order: the functions before the image that contains them, and
// the image before the record that it points into.
class LoadedModule final : public Module {
 public:
  LoadedModule(std::shared_ptr<const Device> device, std::shared_ptr<const CubinRecord> record,
               LoadedImage image, std::uint64_t bytes)
      : device_(std::move(device)), record_(std::move(record)), image_(std::move(image)), bytes_(bytes) {}

  // REQUIRES: the device's context is current.
  Result<void> prepare(const OnlyArguments& arguments) {
    for (std::size_t i = 0; i < record_->entry_points.size(); ++i) {
      const EntryPoint& entry = record_->entry_points[i];
      CUBINET_TRY_ASSIGN(const CUfunction handle, image_.function(KernelSubject{*device_, *record_, &entry}));
      CUBINET_TRY(functions_.emplace_back(*device_, *record_, entry, handle)
                      .prepare(i < arguments.size() ? arguments[i] : 0));
    }
    return {};
  }

  const Device& device() const override { return *device_; }
  const CubinRecord& record() const override { return *record_; }
  std::uint64_t bytes() const override { return bytes_; }

  Result<Function> function(std::string_view entry_point) const override {
    if (entry_point.empty()) return make_function(shared_from_this(), functions_.front());
    for (const LoadedFunction& function : functions_) {
      if (function.entry_point().name == entry_point) return make_function(shared_from_this(), function);
    }
    std::string names;
    for (const LoadedFunction& function : functions_) {
      names += (names.empty() ? "" : ", ") + function.entry_point().name;
    }
    return Error{ErrorCode::not_found,
                 KernelSubject{*device_, *record_}.text("looking into") + ": there is no entry point '" +
                     std::string(entry_point) + "'",
                 "there is: " + names};
  }

  Result<Global> global(std::string_view name) const override {
    const auto declared = record_->globals.find(name);
    const std::string symbol(declared == record_->globals.end() ? name : declared->second);
    const KernelSubject subject{*device_, *record_};
    CUBINET_TRY_ASSIGN(const Device::ContextGuard current, device_->make_current());
    CUBINET_TRY_ASSIGN(const auto place, image_.global(symbol, subject));
    if (place) return make_global(shared_from_this(), symbol, place->address, place->size);
    std::string names;
    for (const auto& [known, ignored] : record_->globals)
      names += (names.empty() ? "" : ", ") + known;
    return Error{ErrorCode::not_found,
                 subject.text("looking into") + ": there is no variable '" + std::string(name) + "'",
                 (names.empty() ? "" : "there is: " + names + "; ") +
                     std::string("declare it with `SourceProgram::globals`, or name it by the symbol that "
                                 "`report_cubin()` lists")};
  }

 private:
  std::shared_ptr<const Device> device_;
  std::shared_ptr<const CubinRecord> record_;
  LoadedImage image_;
  std::uint64_t bytes_;
  std::deque<LoadedFunction> functions_;  // addresses are stable: Functions hold them
};

std::string names_of(const std::vector<SmTarget>& targets) {
  std::string names;
  for (const SmTarget target : targets)
    names += (names.empty() ? "" : ", ") + target.to_string();
  return names.empty() ? "a newer version of cubinet, which knows the device" : names;
}

// Checks the bytes as far as possible before the driver, which does not validate them, receives
// them. Returns the data that they state about the entry points' arguments.
Result<OnlyArguments> check_before_driver(const KernelSubject& subject, ByteView image) {
  const CubinRecord& record = subject.record;
  if (image.size() != record.size) {
    return Error{ErrorCode::corruption, subject.text("loading") + ": the image has " +
                                            std::to_string(image.size()) + " bytes, its record says " +
                                            std::to_string(record.size)};
  }
  if (record.kind == ImageKind::cache_entry) {
    return Error{ErrorCode::unsupported,
                 subject.text("loading") + ": it is an entry of another compiler's cache",
                 "`materialize_cache()` puts it where that compiler looks"};
  }
  OnlyArguments arguments;
  if (auto checked = check_image(record, image, &arguments); !checked) {
    Error error = std::move(checked).error();
    error.message = subject.text("loading") + ": " + error.message;
    return error;
  }
  const ComputeCapability capability = subject.device.properties().capability;
  const bool fits = record.kind == ImageKind::ptx ? ptx_runs_on(record.target, capability)
                                                  : runs_on(record.target, capability);
  if (fits) return arguments;
  return Error{ErrorCode::unsupported,
               subject.text("loading") + ": code for " + record.target_name() +
                   " does not run on compute capability " + capability.to_string(),
               "what runs there: " + names_of(targets_for(capability))};
}

// Checks the number of kernels. The driver reports success for an image of another architecture,
// and loads a library without kernels.
Result<void> check_kernel_count(const KernelSubject& subject, std::optional<unsigned> count) {
  if (!count || *count >= subject.record.entry_points.size()) return {};
  return Error{ErrorCode::unsupported,
               subject.text("loading") + ": the driver found " + std::to_string(*count) +
                   " kernels in the image, its record lists " +
                   std::to_string(subject.record.entry_points.size()),
               "build the kernel for this device"};
}

// REQUIRES: the device's context is current.
Result<std::shared_ptr<const Module>> load_current(std::shared_ptr<const Device> device, const Cubin& cubin,
                                                   const KernelSubject& subject,
                                                   const OnlyArguments& arguments) {
  CUBINET_TRY_ASSIGN(LoadedImage image, LoadedImage::load(device, *cubin.image, subject));
  CUBINET_TRY_ASSIGN(const auto count, image.kernel_count(subject));
  CUBINET_TRY(check_kernel_count(subject, count));
  auto module = std::make_shared<LoadedModule>(std::move(device), cubin.record, std::move(image),
                                               device_bytes(*cubin.record, *cubin.image));
  CUBINET_TRY(module->prepare(arguments));
  return std::shared_ptr<const Module>(std::move(module));
}

}  // namespace

Function Module::make_function(std::shared_ptr<const Module> module, const LoadedFunction& loaded) {
  Function function;
  function.module_ = std::move(module);
  function.loaded_ = &loaded;
  return function;
}

Global Module::make_global(std::shared_ptr<const Module> module, std::string symbol, std::uint64_t address,
                           std::size_t size) {
  return Global(std::move(module), std::move(symbol), address, size);
}

// The module keeps copies of both. They are not moved into it, because objects on the stack need
// them until the end, also if loading fails. NOLINTNEXTLINE(performance-unnecessary-value-param)
Result<std::shared_ptr<const Module>> Module::load(std::shared_ptr<const Device> device, Cubin cubin) {
  if (device == nullptr || cubin.record == nullptr || cubin.image == nullptr ||
      cubin.record->entry_points.empty()) {
    return Error{ErrorCode::invalid_argument,
                 "a module is loaded from a device, a record with entry points and an image"};
  }
  CUBINET_TRY(device->driver()->check_process());
  device->driver()->deferred().run(device->driver()->api());
  const KernelSubject subject{*device, *cubin.record};
  CUBINET_TRY_ASSIGN(const OnlyArguments arguments, check_before_driver(subject, *cubin.image));
  CUBINET_TRY_ASSIGN(const Device::ContextGuard current, device->make_current());
  auto module = load_current(std::move(device), cubin, subject, arguments);
  if (module) return module;
  return with_toolchains(std::move(module).error(), subject, *cubin.image);
}

}  // namespace cubinet
