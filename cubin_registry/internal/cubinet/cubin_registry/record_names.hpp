// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/cubin_registry/store.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

// The names of stored kernels: what people write for a kernel, and what is printed of it.

// Returns the specification that a record belongs to; its name is "?" if the identity cannot be
// decoded.
KernelSpec spec_of(const CubinRecord& record);
// Returns the names of a record's kernels; of a source, the C++ names.
std::vector<std::string> kernel_names(const CubinRecord& record);
// Returns whether the record has a function of this symbol or, of a source, of this C++ name.
bool has_function(const CubinRecord& record, std::string_view name);

// Returns the records that `text` means, in their order. It is the key of a build, else the symbol
// or the stored C++ name of a function, else the C++ name of a source's function, else the name of
// a template, source, publisher or tool. The first of these that a record has decides. "@" and the
// beginning of a pin, a publisher's version or a tool's version may follow a name.
CubinRecords records_named(const CubinRecords& records, std::string_view text);

// Returns the kernel of a record as a line of a list: its key and its name, with the pin if it has
// one: "0123456789abcdef fmha_decode@0a1b".
std::string listed_kernel(const CubinRecord& record);
// Returns the remedy for a name of several kernels. `record` is a build of one of them; what the
// remedy suggests for it names it alone.
std::string remedy_for_several(const CubinRecord& record);

}  // namespace cubinet
