// SPDX-License-Identifier: Apache-2.0
#include "driver_api.hpp"

#include <cstring>

namespace cubinet {
namespace {

constexpr const char* kUpdateRemedy = "install a newer NVIDIA driver";

// A caller of cuGetProcAddress. Its signature changed in CUDA 12.0. Its two forms are the only
// functions looked up by symbol.
class AddressQuery {
 public:
  AddressQuery(const DynamicLibrary& library, int driver_version) : driver_version_(driver_version) {
    copy_pointer(query_, library.find("cuGetProcAddress_v2"));
    copy_pointer(old_query_, library.find("cuGetProcAddress"));
  }

  bool usable() const { return query_ != nullptr || old_query_ != nullptr; }

  // Returns nullptr if the driver has no such function. cuGetProcAddress returns an error for a
  // version above the driver's, which counts as a missing function here.
  Result<void*> find(const char* name, int version) const {
    if (version > driver_version_) return nullptr;
    void* address = nullptr;
    CUdriverProcAddressQueryResult ignored = CU_GET_PROC_ADDRESS_SUCCESS;
    const CUresult status = query_ != nullptr
                                ? query_(name, &address, version, CU_GET_PROC_ADDRESS_DEFAULT, &ignored)
                                : old_query_(name, &address, version, CU_GET_PROC_ADDRESS_DEFAULT);
    if (status == CUDA_SUCCESS) return address;
    if (status == CUDA_ERROR_NOT_FOUND) return nullptr;
    Error error{ErrorCode::unavailable, "the CUDA driver does not say where its function " +
                                            std::string(name) + " is: cuGetProcAddress gives error " +
                                            std::to_string(status)};
    error.native = status;
    return error;
  }

  template <class Pointer>
  static void copy_pointer(Pointer& target, void* address) {
    static_assert(sizeof(Pointer) == sizeof(address));
    std::memcpy(&target, &address, sizeof(address));
  }

 private:
  int driver_version_;
  PFN_cuGetProcAddress_v12000 query_ = nullptr;
  PFN_cuGetProcAddress_v11030 old_query_ = nullptr;
};

Result<int> version_of(const DynamicLibrary& library) {
  PFN_cuDriverGetVersion_v2020 get_version = nullptr;
  AddressQuery::copy_pointer(get_version, library.find("cuDriverGetVersion"));
  if (get_version == nullptr) {
    return Error{ErrorCode::unavailable, "'" + library.path().string() + "' is not a CUDA driver library"};
  }
  int version = 0;
  const CUresult status = get_version(&version);
  if (status == CUDA_SUCCESS) return version;
  Error error{ErrorCode::unavailable, "the CUDA driver '" + library.path().string() +
                                          "' does not tell its version (error " + std::to_string(status) +
                                          ")"};
  if (status == CUDA_ERROR_STUB_LIBRARY) {
    error.remedy = "this is the toolkit's link-time stub: take its folder off the library path";
  }
  error.native = status;
  return error;
}

template <class Pointer>
Result<void> look_up(const AddressQuery& query, Pointer& target, const DriverFunctionName& function) {
  CUBINET_TRY_ASSIGN(void* address, query.find(function.name, function.version));
  if (address == nullptr && function.version <= kMinimumDriverVersion) {
    return Error{ErrorCode::unsupported,
                 "the CUDA driver lacks the function " + std::string(function.name) + ", which CUDA " +
                     cuda_version_text(function.version) + " introduced",
                 kUpdateRemedy};
  }
  AddressQuery::copy_pointer(target, address);
  return {};
}

}  // namespace

std::string cuda_version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

Result<DriverApi> DriverApi::resolve(const DynamicLibrary& library, int& driver_version) {
  CUBINET_TRY_ASSIGN(driver_version, version_of(library));
  const AddressQuery query(library, driver_version);
  if (driver_version < kMinimumDriverVersion || !query.usable()) {
    return Error{ErrorCode::unsupported,
                 "the CUDA driver '" + library.path().string() + "' is of CUDA " +
                     cuda_version_text(driver_version) + "; CUDA " +
                     cuda_version_text(kMinimumDriverVersion) + " (driver 470) is the oldest supported",
                 kUpdateRemedy};
  }
  DriverApi api;
#define CUBINET_DRIVER_LOOK_UP(name, version) \
  CUBINET_TRY(look_up(query, api.name, DriverFunctionName{#name, version}));
  CUBINET_DRIVER_FUNCTIONS(CUBINET_DRIVER_LOOK_UP)
#undef CUBINET_DRIVER_LOOK_UP
  return api;
}

}  // namespace cubinet
