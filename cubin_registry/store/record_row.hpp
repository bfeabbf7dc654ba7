// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/kernel_table/kernel_row.hpp>
#include <cubinet/spec/cubin.hpp>

#include <memory>
#include <string>

namespace cubinet {

// Returns the kernel table's row of a record: machine code whose template or publisher declared
// one. Null for PTX, for a record without a row, and for a row that cannot be decoded: the kernel
// is then found only by its specification.
std::shared_ptr<const KernelRow> row_of(const CubinRecord& record, std::string source = {});

}  // namespace cubinet
