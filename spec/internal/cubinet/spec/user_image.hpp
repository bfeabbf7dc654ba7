// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>
#include <cubinet/spec/cubin.hpp>
#include <cubinet/spec/kernel_spec.hpp>

#include <string_view>
#include <vector>

namespace cubinet {

// A fatbinary holds an image for every target.
inline constexpr std::uint64_t kMaximumUserImageBytes = std::uint64_t{256} << 20;

// Which kernel a file of a user's is, under the name that the user gave it: a function whose `pin` is the
// file's SHA-256, so that another file of the name is another kernel. invalid_argument for what cannot be a
// name.
Result<KernelSpec> spec_of_user_image(std::string_view name, ByteView file);

// The builds of that kernel: of a cubin or PTX the one, of a fatbinary one for each of its images. Their
// launches say block and shared memory. REQUIRES: `spec` is spec_of_user_image's. corruption for what is
// damaged; invalid_argument and unsupported, with the remedy, for what is something else: an object that is
// yet to be linked, a host's program, an image without kernels.
Result<std::vector<Cubin>> builds_of_user_image(const KernelSpec& spec, ByteView file);

// An error for an ELF that is the host's, with the way to the device code in it.
Result<void> refuse_host_file(ByteView elf);

}  // namespace cubinet
