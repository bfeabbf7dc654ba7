// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <link.h>
#include <optional>
#include <vector>

namespace cubinet {

// Returns the relocations by which the dynamic loader gives a loaded library the address of an
// imported function. They live as long as the library.
std::vector<const ElfW(Rela) *> imports_of(const link_map& library, const char* symbol);

// Returns where the library's file has the data of an address, which is relative to the library's
// begin. Returns nullopt if no segment of the file contains it.
std::optional<std::uint64_t> file_offset(const link_map& library, std::uint64_t address);

}  // namespace cubinet
