// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "conversions.hpp"
#include "without_gil.hpp"

#include <cubinet/cubinet.h>

#include <memory>

namespace cubinet_python {

namespace nb = nanobind;

// Owns a handle of the C library. The last copy releases it, without the GIL, because a release may
// unload a module and wait for the device. Copies are made and destroyed with the GIL held.
template <class Type>
using Handle = std::shared_ptr<Type>;

template <class Type>
Handle<Type> own(Type* handle, void (*release)(Type*)) {
  return Handle<Type>(handle, [release](Type* owned) {
    const WithoutGil without_gil;
    release(owned);
  });
}

// The runtime of Python's Runtime and of the kernels that it resolved. close() empties it, so that
// no further kernel is searched or loaded.
struct RuntimeState {
  Handle<cubinet_runtime> handle;
  // Raises InvalidArgument if the runtime is closed.
  Handle<cubinet_runtime> open() const;
};

}  // namespace cubinet_python
