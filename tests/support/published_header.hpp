// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/kernel_table/column.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace cubinet::test {

// Returns a metadata header of the published kind that declares every column of such headers.
inline std::string published_header(const std::vector<KernelRow>& rows) {
  std::string columns;
  for (const Column& column : kernel_columns()) {
    if (!column.header_name.empty()) columns += "int " + std::string(column.header_name) + ";\n";
  }
  std::string text = "struct TllmGenFmhaKernelMetaInfo\n{\n" + columns +
                     "int mSM;\nconst char* mFuncName;\nconst char* sha256;\n};\n"
                     "static const TllmGenFmhaKernelMetaInfo sInfos[] = {\n";
  for (const KernelRow& row : rows) {
    text += "{ ";
    for (const Column& column : kernel_columns()) {
      if (!column.header_name.empty()) text += std::to_string(column.get(row)) + ", ";
    }
    text += "kSM_" + row.target.to_string().substr(3) + ", \"" + row.function_name + "\", \"" +
            row.digest.to_hex() + "\"},\n";
  }
  return text + "};\n";
}

}  // namespace cubinet::test
