// SPDX-License-Identifier: Apache-2.0
// The part of DLPack's ABI that cubinet reads, by the layouts of DLPack 1.3 (dlpack.h). The
// header in Debian is older than the exchange table.
#pragma once

#include <cstdint>

enum DLDeviceType : std::int32_t { kDLCPU = 1, kDLCUDA = 2, kDLCUDAHost = 3, kDLCUDAManaged = 13 };

struct DLDevice {
  DLDeviceType type;
  std::int32_t id;
};

enum DLDataTypeCode : std::uint8_t {
  kDLInt = 0,
  kDLUInt = 1,
  kDLFloat = 2,
  kDLBfloat = 4,
  kDLFloat8_e4m3fn = 10
};

struct DLDataType {
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
};

struct DLTensor {
  void* data;
  DLDevice device;
  std::int32_t ndim;
  DLDataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  // in elements; null before DLPack 1.2: contiguous
  std::uint64_t byte_offset;
};

struct DLManagedTensor {
  DLTensor tensor;
  void* context;
  void (*deleter)(DLManagedTensor*);
};

struct DLPackVersion {
  std::uint32_t major;
  std::uint32_t minor;
};

// The table behind the capsule "dlpack_exchange_api", which a tensor type has as the attribute
// __dlpack_c_exchange_api__. Functions that cubinet does not call are untyped here.
struct DLPackExchangeAPI {
  DLPackVersion version;
  const DLPackExchangeAPI* previous;
  void* allocate;
  void* export_tensor;
  void* import_tensor;
  // Fills in a tensor that borrows from the object. May be null. Returns 0, or -1 with a Python
  // error.
  int (*borrow_tensor)(void* object, DLTensor* tensor);
  // Returns the stream in which the library's next operation on the device will run.
  int (*current_stream)(DLDeviceType type, std::int32_t device, void** stream);
};
