// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/callback.hpp>
#include <cubinet/base/result.hpp>
#include <cubinet/loader/driver.hpp>

#include <memory>

using CUevent = struct CUevent_st*;
using CUgraphExec = struct CUgraphExec_st*;

namespace cubinet {

// A stream of a device's primary context. It is destroyed with the object, after which its work
// still runs to its end. It is ordered with the legacy default stream. For tools, tests and
// programs without streams of their own. A serving runtime passes its own handle to
// Function::launch. Movable. No context has to be current.
class Stream {
 public:
  static Result<Stream> create(std::shared_ptr<const Device> device);
  Stream(Stream&& other) noexcept;
  Stream& operator=(Stream&& other) noexcept;
  ~Stream();

  CUstream handle() const { return handle_; }
  const std::shared_ptr<const Device>& device() const { return device_; }
  // Blocks until all work has ended. Returns the error of a kernel that failed.
  Result<void> synchronize() const;
  // Returns whether all work has ended.
  Result<bool> idle() const;

 private:
  Stream(std::shared_ptr<const Device> device, CUstream handle)
      : device_(std::move(device)), handle_(handle) {}
  std::shared_ptr<const Device> device_;
  CUstream handle_ = nullptr;
};

// Returns whether work in a stream of the device, for example its legacy default stream, is being
// captured or would become part of another capture.
Result<bool> is_capturing(const Device& device, CUstream stream);

// An event in a stream, used for timing.
class Event {
 public:
  static Result<Event> create(std::shared_ptr<const Device> device);
  Event(Event&& other) noexcept;
  Event& operator=(Event&& other) noexcept;
  ~Event();

  Result<void> record(const Stream& stream) const;
  Result<void> synchronize() const;
  // Returns the milliseconds from `start` to this event. REQUIRES: both events were recorded and
  // have occurred.
  Result<float> milliseconds_since(const Event& start) const;

 private:
  Event(std::shared_ptr<const Device> device, CUevent handle) : device_(std::move(device)), handle_(handle) {}
  std::shared_ptr<const Device> device_;
  CUevent handle_ = nullptr;
};

// A captured graph of work that can be launched repeatedly.
class Graph {
 public:
  // Captures the work that `record` enqueues in the stream on this thread, and instantiates it. An
  // error of `record` ends the capture and is returned. The stream stays usable. The graph keeps
  // the modules whose Functions `record` launched.
  static Result<Graph> capture(const Stream& stream, const Callback<Result<void>()>& record);
  Graph(Graph&& other) noexcept;
  Graph& operator=(Graph&& other) noexcept;
  ~Graph();

  Result<void> launch(const Stream& stream) const;

 private:
  Graph(std::shared_ptr<const Device> device, CUgraphExec handle)
      : device_(std::move(device)), handle_(handle) {}
  std::shared_ptr<const Device> device_;
  CUgraphExec handle_ = nullptr;
};

}  // namespace cubinet
