// SPDX-License-Identifier: Apache-2.0
#include "graph_retention.hpp"

#include "deferred_calls.hpp"
#include "driver_api.hpp"

#include <cubinet/loader/module.hpp>

namespace cubinet {
namespace {

using Reference = std::shared_ptr<const Module>;

// Called by the driver on a thread of its own when the last graph is destroyed.
void CUDA_CB drop_reference(void* reference) {
  const DeferredCalls::CallbackScope inside;
  delete static_cast<Reference*>(reference);
}

Result<void> retain(const Reference& module, const KernelSubject& subject, CUgraph graph) {
  const DriverApi& api = subject.device.driver()->api();
  auto reference = std::make_unique<Reference>(module);
  CUuserObject object = nullptr;
  CUresult result =
      api.cuUserObjectCreate(&object, reference.get(), drop_reference, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
  if (result != CUDA_SUCCESS) return subject.error(result, "cuUserObjectCreate", "capturing");
  static_cast<void>(reference.release());  // the object owns it
  result = api.cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE);
  if (result == CUDA_SUCCESS) return {};
  Error error = subject.error(result, "cuGraphRetainUserObject", "capturing");
  subject.device.driver()->report(api.cuUserObjectRelease(object, 1), "cuUserObjectRelease",
                                  "releasing a module that a graph does not keep");
  return error;
}

}  // namespace

Result<void> retain_in_capture(const Reference& module, const DriverApi& api, const KernelSubject& subject,
                               CUstream stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  CUresult result = api.cuStreamIsCapturing(stream, &status);
  // A launch on the legacy stream while a stream that waits for it is captured. The launch reports
  // it.
  if (result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) return {};
  if (result != CUDA_SUCCESS) return subject.error(result, "cuStreamIsCapturing", "launching");
  if (status != CU_STREAM_CAPTURE_STATUS_ACTIVE) return {};
  CUgraph graph = nullptr;
  result = api.cuStreamGetCaptureInfo(stream, &status, nullptr, &graph, nullptr, nullptr);
  if (result != CUDA_SUCCESS) return subject.error(result, "cuStreamGetCaptureInfo", "capturing");
  if (status != CU_STREAM_CAPTURE_STATUS_ACTIVE || graph == nullptr) return {};
  return retain(module, subject, graph);
}

}  // namespace cubinet
