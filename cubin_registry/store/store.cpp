// SPDX-License-Identifier: Apache-2.0
#include <cubinet/cubin_registry/store.hpp>

namespace cubinet {

Result<void> WritableStore::add_tuning(const TuningTable& /*table*/) {
  return Error{
      ErrorCode::unsupported,
      std::string(to_string(description().kind)) + " '" + description().place + "' keeps no measurements",
      "keep them in a home"};
}

std::string_view to_string(StoreKind kind) {
  switch (kind) {
    case StoreKind::memory:
      return "memory";
    case StoreKind::home:
      return "home";
    case StoreKind::bundle:
      return "bundle";
    case StoreKind::imported:
      return "imported";
    case StoreKind::server:
      return "server";
    case StoreKind::cache:
      return "cache";
  }
  return "memory";
}

std::string_view to_string(StoreFinding::Kind kind) {
  switch (kind) {
    case StoreFinding::Kind::damaged_cubin:
      return "damaged_cubin";
    case StoreFinding::Kind::missing_cubin:
      return "missing_cubin";
    case StoreFinding::Kind::damaged_record:
      return "damaged_record";
    case StoreFinding::Kind::unreadable_file:
      return "unreadable_file";
    case StoreFinding::Kind::stray_file:
      return "stray_file";
    case StoreFinding::Kind::damaged_index:
      return "damaged_index";
    case StoreFinding::Kind::damaged_import:
      return "damaged_import";
    case StoreFinding::Kind::damaged_tuning:
      return "damaged_tuning";
    case StoreFinding::Kind::conflicting_build:
      return "conflicting_build";
  }
  return "damaged_index";
}

}  // namespace cubinet
