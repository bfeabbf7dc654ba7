// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernel_subject.hpp"

#include <cubinet/base/result.hpp>
#include <cubinet/loader/driver.hpp>

#include <memory>

namespace cubinet {

class Module;

// If the stream is being captured, makes the captured graph keep the module until the graph and its
// executables are destroyed. Otherwise makes one call of the driver, which takes 20 ns. Allocates
// only in a capture. REQUIRES: the device's context is current.
Result<void> retain_in_capture(const std::shared_ptr<const Module>& module, const DriverApi& api,
                               const KernelSubject& subject, CUstream stream);

}  // namespace cubinet
