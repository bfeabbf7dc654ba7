// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>
#include <cubinet/spec/cubin.hpp>
#include <cubinet/spec/cubin_elf.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

// Checks that the image matches its record in kind, target, and every entry point's symbol, as far
// as its text or ELF states them. Returns a corruption error that names the difference. Sets
// `arguments` to those of a cubin's entry points. REQUIRES: the bytes match the record's digest.
Result<void> check_image(const CubinRecord& record, ByteView image, OnlyArguments* arguments = nullptr);

// Returns the first of `symbols` that is not among `kernels`, or nullptr if all are. Takes O(n log
// n) time, because the number of names in an image is not limited.
const std::string_view* missing_symbol(const std::vector<std::string_view>& kernels,
                                       const std::vector<std::string_view>& symbols);

// Returns "13.5" of "Cuda compilation tools, release 13.5, V13.5.37", a text in every image.
// Returns an empty text if it is absent.
std::string toolkit_release(std::string_view text);

}  // namespace cubinet
