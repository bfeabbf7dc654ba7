// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/callback.hpp>
#include <cubinet/base/result.hpp>
#include <cubinet/loader/driver.hpp>

#include <memory>

using CUevent = struct CUevent_st*;
using CUgraphExec = struct CUgraphExec_st*;

namespace cubinet {

// A stream of a device's primary context, destroyed with the object (work in it still runs to its end).
// Ordered with the legacy default stream. For tools, tests and programs without streams of their own; a
// serving runtime passes its own handle to Function::launch. Movable. No context has to be current.
class Stream {
 public:
  static Result<Stream> create(std::shared_ptr<const Device> device);
  Stream(Stream&& other) noexcept;
  Stream& operator=(Stream&& other) noexcept;
  ~Stream();

  CUstream handle() const { return handle_; }
  const std::shared_ptr<const Device>& device() const { return device_; }
  // Waits for all work; the error of a kernel that failed shows here.
  Result<void> synchronize() const;
  // Whether all work has ended.
  Result<bool> idle() const;

 private:
  Stream(std::shared_ptr<const Device> device, CUstream handle)
      : device_(std::move(device)), handle_(handle) {}
  std::shared_ptr<const Device> device_;
  CUstream handle_ = nullptr;
};

// Whether work in a stream of the device's, its legacy default stream for one, is being captured or would get
// into somebody's capture.
Result<bool> is_capturing(const Device& device, CUstream stream);

// A point in a stream whose time can be taken.
class Event {
 public:
  static Result<Event> create(std::shared_ptr<const Device> device);
  Event(Event&& other) noexcept;
  Event& operator=(Event&& other) noexcept;
  ~Event();

  Result<void> record(const Stream& stream) const;
  Result<void> synchronize() const;
  // Milliseconds from `start` to this event. Both have been recorded and have happened.
  Result<float> milliseconds_since(const Event& start) const;

 private:
  Event(std::shared_ptr<const Device> device, CUevent handle) : device_(std::move(device)), handle_(handle) {}
  std::shared_ptr<const Device> device_;
  CUevent handle_ = nullptr;
};

// Work captured once, to be launched often.
class Graph {
 public:
  // Captures what `record` puts into the stream, on this thread, and makes it launchable. An error of
  // `record` ends the capture and is returned; the stream is usable afterwards. The Functions launched in
  // `record` have to outlive the graph.
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
