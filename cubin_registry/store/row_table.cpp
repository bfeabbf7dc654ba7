// SPDX-License-Identifier: Apache-2.0
#include <cubinet/cubin_registry/row_table.hpp>

namespace cubinet {

Result<void> RowTable::add_tuning(const TuningTable& /*table*/) {
  return Error{ErrorCode::unsupported, "this store keeps no measurements", "keep them in a home"};
}

RowTable* row_table_of(Store& store) {
  return dynamic_cast<RowTable*>(&store);
}

}  // namespace cubinet
