// SPDX-License-Identifier: Apache-2.0
#include <cubinet/session/judged_build.hpp>

namespace cubinet {

bool can_be_stale(const CubinRecord& record) {
  const KernelMaker maker = record.identity.kernel().maker();
  return maker != KernelMaker::function && maker != KernelMaker::tool &&
         record.origin != CubinOrigin::imported;
}

JudgedBuild judged_build(Runtime& runtime, std::shared_ptr<const CubinRecord> record) {
  JudgedBuild judged{std::move(record)};
  if (!can_be_stale(*judged.record)) return judged;
  auto status = runtime.build_status(judged.record);
  if (!status) {
    judged.verdict = std::move(status).error().message;
    return judged;
  }
  judged.status = status->status;
  judged.verdict = std::move(status->verdict);
  return judged;
}

}  // namespace cubinet
