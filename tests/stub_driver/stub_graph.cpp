// SPDX-License-Identifier: Apache-2.0
// Captures, graphs and user objects.
#include "stub_state.hpp"

#include <algorithm>
#include <thread>
#include <utility>

namespace cubinet::stub {
namespace {

// The destructors of objects that lost their last reference.
using Ended = std::vector<std::pair<CUhostFn, void*>>;

// The functions below REQUIRE that the mutex is held.
void drop(CUuserObject object, unsigned count, Ended& ended) {
  State& now = state();
  if (!now.user_objects.contains(object)) return;
  object->references -= std::min(count, object->references);
  if (object->references != 0) return;
  ended.emplace_back(object->destroy, object->pointer);
  now.user_objects.remove(object);
}

template <class Graph>
CUresult destroy(Objects<Graph>& graphs, Graph* graph) {
  Ended ended;
  {
    const std::lock_guard lock(state().mutex);
    if (!graphs.contains(graph)) return CUDA_ERROR_INVALID_HANDLE;
    for (CUuserObject object : graph->objects)
      drop(object, 1, ended);
    graphs.remove(graph);
  }
  // The driver runs them on a thread of its own and does not wait for them. The stub waits, so that
  // a test sees the end.
  std::thread([&] {
    for (const auto& [function, pointer] : ended)
      function(pointer);
  }).join();
  return CUDA_SUCCESS;
}

}  // namespace

CUresult stub_cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode) {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  if (!now.streams.contains(stream)) return CUDA_ERROR_INVALID_HANDLE;
  if (stream->capturing != nullptr) return CUDA_ERROR_INVALID_VALUE;
  stream->capturing = now.graphs.add();
  return CUDA_SUCCESS;
}

CUresult stub_cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  if (stream != nullptr && !now.streams.contains(stream)) return CUDA_ERROR_INVALID_HANDLE;
  const bool capturing = stream != nullptr && stream->capturing != nullptr;
  *status = capturing ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
  return CUDA_SUCCESS;
}

CUresult stub_cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t*,
                                     CUgraph* graph, const CUgraphNode**, std::size_t*) {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  if (stream != nullptr && !now.streams.contains(stream)) return CUDA_ERROR_INVALID_HANDLE;
  const CUgraph capturing = stream == nullptr ? nullptr : stream->capturing;
  *status = capturing != nullptr ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
  if (graph != nullptr) *graph = capturing;
  return CUDA_SUCCESS;
}

CUresult stub_cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  if (!now.streams.contains(stream)) return CUDA_ERROR_INVALID_HANDLE;
  if (stream->capturing == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *graph = std::exchange(stream->capturing, nullptr);
  return CUDA_SUCCESS;
}

CUresult stub_cuUserObjectCreate(CUuserObject* object, void* pointer, CUhostFn destroy, unsigned references,
                                 unsigned flags) {
  if (object == nullptr || destroy == nullptr || references == 0 ||
      flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)
    return CUDA_ERROR_INVALID_VALUE;
  State& now = state();
  const std::lock_guard lock(now.mutex);
  *object = now.user_objects.add();
  **object = {pointer, destroy, references};
  return CUDA_SUCCESS;
}

CUresult stub_cuUserObjectRelease(CUuserObject object, unsigned count) {
  Ended ended;
  {
    const std::lock_guard lock(state().mutex);
    drop(object, count, ended);
  }
  for (const auto& [function, pointer] : ended)
    function(pointer);
  return CUDA_SUCCESS;
}

// Takes over the caller's references, as CU_GRAPH_USER_OBJECT_MOVE states.
CUresult stub_cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned count, unsigned flags) {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  if (!now.graphs.contains(graph) || !now.user_objects.contains(object)) return CUDA_ERROR_INVALID_HANDLE;
  if (count != 1 || flags != CU_GRAPH_USER_OBJECT_MOVE) return CUDA_ERROR_INVALID_VALUE;
  graph->objects.push_back(object);
  return CUDA_SUCCESS;
}

CUresult stub_cuGraphInstantiateWithFlags(CUgraphExec* executable, CUgraph graph, unsigned long long) {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  if (!now.graphs.contains(graph)) return CUDA_ERROR_INVALID_HANDLE;
  *executable = now.executable_graphs.add();
  (*executable)->launches = graph->launches;
  (*executable)->objects = graph->objects;
  for (CUuserObject object : graph->objects)
    ++object->references;
  return CUDA_SUCCESS;
}

// The real driver runs a graph with an unloaded kernel, or crashes.
CUresult stub_cuGraphLaunch(CUgraphExec executable, CUstream stream) {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  if (!now.executable_graphs.contains(executable)) return CUDA_ERROR_INVALID_HANDLE;
  for (CapturedLaunch launch : executable->launches) {
    if (launch.loaded.expired()) return CUDA_ERROR_ILLEGAL_ADDRESS;
    launch.record.stream = stream;
    launch.record.in_graph = 1;
    now.launches.push_back(launch.record);
  }
  return CUDA_SUCCESS;
}

CUresult stub_cuGraphDestroy(CUgraph graph) {
  return destroy(state().graphs, graph);
}

CUresult stub_cuGraphExecDestroy(CUgraphExec executable) {
  return destroy(state().executable_graphs, executable);
}

}  // namespace cubinet::stub
