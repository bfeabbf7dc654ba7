// SPDX-License-Identifier: Apache-2.0
#include "driver_api.hpp"
#include "kernel_subject.hpp"

#include <cubinet/loader/global.hpp>
#include <cubinet/loader/module.hpp>

namespace cubinet {
namespace {

std::string copy_text(std::string_view doing, std::size_t bytes, std::size_t offset,
                      const std::string& symbol) {
  return std::string(doing) + " " + std::to_string(bytes) + " bytes at offset " + std::to_string(offset) +
         " of '" + symbol + "' of";
}

}  // namespace

Result<void> Global::check_range(std::string_view doing, std::size_t bytes, std::size_t offset) const {
  if (offset <= size_ && bytes <= size_ - offset) return {};
  return Error{ErrorCode::invalid_argument, KernelSubject{module_->device(), module_->record()}.text(
                                                copy_text(doing, bytes, offset, symbol_)) +
                                                ": the variable has " + std::to_string(size_) + " bytes"};
}

Result<void> Global::write(ByteView source, CUstream stream, std::size_t offset) const {
  CUBINET_TRY(check_range("writing", source.size(), offset));
  if (source.empty()) return {};
  const Device& device = module_->device();
  CUBINET_TRY_ASSIGN(const Device::ContextGuard current, device.make_current());
  const CUresult result =
      device.driver()->api().cuMemcpyHtoDAsync(address_ + offset, source.data(), source.size(), stream);
  if (result == CUDA_SUCCESS) return {};
  return KernelSubject{device, module_->record()}.error(result, "cuMemcpyHtoDAsync",
                                                        copy_text("writing", source.size(), offset, symbol_));
}

Result<void> Global::read(std::span<std::byte> target, CUstream stream, std::size_t offset) const {
  CUBINET_TRY(check_range("reading", target.size(), offset));
  if (target.empty()) return {};
  const Device& device = module_->device();
  CUBINET_TRY_ASSIGN(const Device::ContextGuard current, device.make_current());
  const CUresult result =
      device.driver()->api().cuMemcpyDtoHAsync(target.data(), address_ + offset, target.size(), stream);
  if (result == CUDA_SUCCESS) return {};
  return KernelSubject{device, module_->record()}.error(result, "cuMemcpyDtoHAsync",
                                                        copy_text("reading", target.size(), offset, symbol_));
}

}  // namespace cubinet
