// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>
#include <cubinet/spec/cubin.hpp>
#include <cubinet/spec/cubin_elf.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

// Whether the image is what its record says, as far as its own text or ELF tells: kind, target, and every
// entry point's symbol. corruption that names the difference. REQUIRES: the bytes have been compared with the
// record's digest. `arguments` are those of a cubin's entry points.
Result<void> check_image(const CubinRecord& record, ByteView image, OnlyArguments* arguments = nullptr);

// The first of `symbols` that is not among `kernels`; nullptr where all are. Takes n log n: an image states
// as many names as it likes.
const std::string_view* missing_symbol(const std::vector<std::string_view>& kernels,
                                       const std::vector<std::string_view>& symbols);

// "13.5" of "Cuda compilation tools, release 13.5, V13.5.37", which stands in every image; empty where it
// does not.
std::string toolkit_release(std::string_view text);

}  // namespace cubinet
