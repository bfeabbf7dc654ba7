// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "conversions.hpp"

#include <cubinet/dlpack/dlpack.hpp>

namespace cubinet_python {

// Returns the CUstream of a launch. A stated stream is an int, or an object with `cuda_stream`
// (PyTorch), `ptr` (CuPy) or `__cuda_stream__` (cuda.core). Without one, it is the current stream of
// the tensors' library. Raises InvalidArgument if tensors come without either, because the legacy
// default stream would then race with their producer. Without tensors it is the legacy default
// stream.
void* stream_of(PyObject* stated, const DLPackExchangeAPI* exchange, bool has_tensor, int device);

}  // namespace cubinet_python
