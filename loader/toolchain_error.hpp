// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernel_subject.hpp"

#include <cubinet/base/bytes.hpp>

namespace cubinet {

// CUDA_ERROR_INSUFFICIENT_LOADER_VERSION, which headers before CUDA 13.5 do not have. The image
// requires a later loader than the driver's.
inline constexpr int kInsufficientLoaderVersion = 227;

// Completes the error of a driver that rejected an image because the image is from a later CUDA
// release. Adds both releases and the remedy. Returns any other error unchanged.
Error with_toolchains(Error error, const KernelSubject& subject, ByteView image);

}  // namespace cubinet
