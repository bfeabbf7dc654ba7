// SPDX-License-Identifier: Apache-2.0
#include "driver_api.hpp"
#include "release.hpp"

#include <cubinet/loader/stream.hpp>

#include <utility>

namespace cubinet {
namespace {

Result<void> check(const Device& device, CUresult result, const char* function, const char* doing) {
  if (result == CUDA_SUCCESS) return {};
  return device.driver()->error(result, function,
                                std::string(doing) + " on " + device.properties().to_string());
}

Error no_device(const char* what) {
  return Error{ErrorCode::invalid_argument, std::string(what) + " is created on a device"};
}

// A captured graph, which is destroyed when it is no longer needed.
struct CapturedGraph {
  const Device& device;
  CUgraph handle = nullptr;

  ~CapturedGraph() {
    if (handle == nullptr) return;
    const Driver& driver = *device.driver();
    driver.report(driver.api().cuGraphDestroy(handle), "cuGraphDestroy", "forgetting a captured graph");
  }
};

}  // namespace

Result<Stream> Stream::create(std::shared_ptr<const Device> device) {
  if (device == nullptr) return no_device("a stream");
  CUBINET_TRY_ASSIGN(const Device::ContextGuard current, device->make_current());
  CUstream handle = nullptr;
  const CUresult result = device->driver()->api().cuStreamCreate(&handle, CU_STREAM_DEFAULT);
  CUBINET_TRY(check(*device, result, "cuStreamCreate", "creating a stream"));
  return Stream(std::move(device), handle);
}

Stream::Stream(Stream&& other) noexcept
    : device_(std::move(other.device_)), handle_(std::exchange(other.handle_, nullptr)) {}

Stream& Stream::operator=(Stream&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(handle_, other.handle_);
  return *this;
}

Stream::~Stream() {
  if (handle_ == nullptr) return;
  release(*device_, "cuStreamDestroy", [&](const DriverApi& api) { return api.cuStreamDestroy(handle_); });
}

Result<void> Stream::synchronize() const {
  CUBINET_TRY_ASSIGN(const Device::ContextGuard current, device_->make_current());
  const CUresult result = device_->driver()->api().cuStreamSynchronize(handle_);
  return check(*device_, result, "cuStreamSynchronize", "waiting for a stream");
}

Result<bool> Stream::idle() const {
  CUBINET_TRY_ASSIGN(const Device::ContextGuard current, device_->make_current());
  const CUresult result = device_->driver()->api().cuStreamQuery(handle_);
  if (result == CUDA_ERROR_NOT_READY) return false;
  CUBINET_TRY(check(*device_, result, "cuStreamQuery", "asking a stream"));
  return true;
}

Result<Event> Event::create(std::shared_ptr<const Device> device) {
  if (device == nullptr) return no_device("an event");
  CUBINET_TRY_ASSIGN(const Device::ContextGuard current, device->make_current());
  CUevent handle = nullptr;
  const CUresult result = device->driver()->api().cuEventCreate(&handle, CU_EVENT_DEFAULT);
  CUBINET_TRY(check(*device, result, "cuEventCreate", "creating an event"));
  return Event(std::move(device), handle);
}

Event::Event(Event&& other) noexcept
    : device_(std::move(other.device_)), handle_(std::exchange(other.handle_, nullptr)) {}

Event& Event::operator=(Event&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(handle_, other.handle_);
  return *this;
}

Event::~Event() {
  if (handle_ == nullptr) return;
  release(*device_, "cuEventDestroy", [&](const DriverApi& api) { return api.cuEventDestroy(handle_); });
}

Result<void> Event::record(const Stream& stream) const {
  CUBINET_TRY_ASSIGN(const Device::ContextGuard current, device_->make_current());
  const CUresult result = device_->driver()->api().cuEventRecord(handle_, stream.handle());
  return check(*device_, result, "cuEventRecord", "recording an event");
}

Result<void> Event::synchronize() const {
  CUBINET_TRY_ASSIGN(const Device::ContextGuard current, device_->make_current());
  const CUresult result = device_->driver()->api().cuEventSynchronize(handle_);
  return check(*device_, result, "cuEventSynchronize", "waiting for an event");
}

Result<float> Event::milliseconds_since(const Event& start) const {
  CUBINET_TRY_ASSIGN(const Device::ContextGuard current, device_->make_current());
  float milliseconds = 0;
  const CUresult result = device_->driver()->api().cuEventElapsedTime(&milliseconds, start.handle_, handle_);
  CUBINET_TRY(check(*device_, result, "cuEventElapsedTime", "taking the time between events"));
  return milliseconds;
}

Result<bool> is_capturing(const Device& device, CUstream stream) {
  CUBINET_TRY_ASSIGN(const Device::ContextGuard current, device.make_current());
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUresult result = device.driver()->api().cuStreamIsCapturing(stream, &status);
  // The legacy stream returns this while a stream that waits for it is being captured.
  if (result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) return true;
  CUBINET_TRY(check(device, result, "cuStreamIsCapturing", "asking for a capture"));
  return status != CU_STREAM_CAPTURE_STATUS_NONE;
}

Result<Graph> Graph::capture(const Stream& stream, const Callback<Result<void>()>& record) {
  const Device& device = *stream.device();
  const DriverApi& api = device.driver()->api();
  CUBINET_TRY_ASSIGN(const Device::ContextGuard current, device.make_current());
  // The mode is thread-local so that calls of other threads, such as loading modules, do not break
  // the capture.
  CUBINET_TRY(check(device, api.cuStreamBeginCapture(stream.handle(), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
                    "cuStreamBeginCapture", "beginning a capture"));
  const Result<void> recorded = record();
  CapturedGraph graph{device};
  const CUresult ended = api.cuStreamEndCapture(stream.handle(), &graph.handle);
  CUBINET_TRY(recorded);
  CUBINET_TRY(check(device, ended, "cuStreamEndCapture", "ending a capture"));
  CUgraphExec handle = nullptr;
  CUBINET_TRY(check(device, api.cuGraphInstantiateWithFlags(&handle, graph.handle, 0),
                    "cuGraphInstantiateWithFlags", "instantiating a graph"));
  return Graph(stream.device(), handle);
}

Graph::Graph(Graph&& other) noexcept
    : device_(std::move(other.device_)), handle_(std::exchange(other.handle_, nullptr)) {}

Graph& Graph::operator=(Graph&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(handle_, other.handle_);
  return *this;
}

Graph::~Graph() {
  if (handle_ == nullptr) return;
  release(*device_, "cuGraphExecDestroy",
          [&](const DriverApi& api) { return api.cuGraphExecDestroy(handle_); });
}

Result<void> Graph::launch(const Stream& stream) const {
  CUBINET_TRY_ASSIGN(const Device::ContextGuard current, device_->make_current());
  const CUresult result = device_->driver()->api().cuGraphLaunch(handle_, stream.handle());
  return check(*device_, result, "cuGraphLaunch", "launching a graph");
}

}  // namespace cubinet
