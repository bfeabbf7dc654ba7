// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>
#include <cubinet/spec/cubin.hpp>
#include <cubinet/spec/kernel_spec.hpp>

#include <string_view>
#include <vector>

namespace cubinet {

// The size limit of a user's file. A fatbinary holds an image for every target.
inline constexpr std::uint64_t kMaximumUserImageBytes = std::uint64_t{256} << 20;

// Returns the specification of a user's file under the name that the user gave it. The kernel is a
// function whose `pin` is the file's SHA-256, so that another file of the same name is another
// kernel. Returns invalid_argument for an invalid name.
Result<KernelSpec> spec_of_user_image(std::string_view name, ByteView file);

// Returns the builds of that kernel: one for a cubin or PTX, and one per image for a fatbinary.
// Each launch must set block and shared memory. Errors: corruption for a damaged file;
// invalid_argument and unsupported, with the remedy, for an unlinked object, a host program or an
// image without kernels. REQUIRES: `spec` is from spec_of_user_image().
Result<std::vector<Cubin>> builds_of_user_image(const KernelSpec& spec, ByteView file);

// Returns an error for an ELF of the host. The error states how to extract the device code from it.
Result<void> refuse_host_file(ByteView elf);

}  // namespace cubinet
