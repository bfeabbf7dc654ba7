// SPDX-License-Identifier: Apache-2.0
#include <cubinet/spec/cubin_elf.hpp>
#include <cubinet/spec/image_check.hpp>
#include <cubinet/spec/ptx.hpp>

#include <algorithm>

namespace cubinet {
namespace {

Result<void> check_ptx(const CubinRecord& record, ByteView image, const std::vector<std::string>& symbols) {
  CUBINET_TRY_ASSIGN(const PtxInspection inspection, inspect_ptx(image));
  if (inspection.target != record.target) {
    return Error{ErrorCode::corruption, "not usable PTX: it is for " + inspection.target.compute_name() +
                                            " and listed as " + record.target_name()};
  }
  for (const std::string& symbol : symbols) {
    if (std::find(inspection.kernels.begin(), inspection.kernels.end(), symbol) == inspection.kernels.end()) {
      return Error{ErrorCode::corruption, "not usable PTX: it holds no kernel '" + symbol + "'"};
    }
  }
  return {};
}

}  // namespace

Result<void> check_image(const CubinRecord& record, ByteView image) {
  std::vector<std::string> symbols;
  symbols.reserve(record.entry_points.size());
  for (const EntryPoint& entry : record.entry_points)
    symbols.push_back(entry.symbol);
  if (record.kind == ImageKind::ptx) return check_ptx(record, image, symbols);
  return check_cubin(image, record.target, symbols);
}

}  // namespace cubinet
