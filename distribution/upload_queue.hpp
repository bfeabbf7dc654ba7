// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/callback.hpp>
#include <cubinet/base/fork_guard.hpp>
#include <cubinet/base/log.hpp>
#include <cubinet/transport/http_client.hpp>

#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

namespace cubinet {

// Uploads in the background, one after the other, on a thread that lives while there is work. The
// destructor waits at most `patience` and drops the rest. The first failure is logged as a warning.
// Thread-safe. Does nothing in a forked child.
class UploadQueue {
 public:
  using Upload = Callback<Result<void>(HttpClient&)>;

  UploadQueue(const HttpSettings& settings, std::chrono::milliseconds patience, LogSink log);
  ~UploadQueue();
  UploadQueue(const UploadQueue&) = delete;
  UploadQueue& operator=(const UploadQueue&) = delete;

  // Queues an upload and returns at once.
  void push(Upload upload);

 private:
  void send_all();
  bool is_over() const;
  void tell(const std::string& reason);

  const std::chrono::milliseconds patience_;
  const LogSink log_;
  const ForkGuard fork_guard_;
  std::atomic<std::int64_t> ends_{0};  // steady clock; 0: the destructor has not been called
  // Separate, so that its requests end with the destructor's wait.
  HttpClient client_;
  std::mutex mutex_;  // guards the members below
  std::deque<Upload> waiting_;
  std::unique_ptr<std::thread> thread_;
  bool sending_ = false;
  std::atomic<bool> told_{false};
};

}  // namespace cubinet
