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

// What is sent behind the back of whoever made it, one after the other, by a thread that lives while there is
// something to send. Its destruction waits for at most `patience`, and what was not sent then is dropped.
// That something could not be sent is a warning once. Thread-safe; in a forked child it does nothing.
class UploadQueue {
 public:
  using Upload = Callback<Result<void>(HttpClient&)>;

  UploadQueue(const HttpSettings& settings, std::chrono::milliseconds patience, LogSink log);
  ~UploadQueue();
  UploadQueue(const UploadQueue&) = delete;
  UploadQueue& operator=(const UploadQueue&) = delete;

  // Returns at once.
  void push(Upload upload);

 private:
  void send_all();
  bool is_over() const;
  void tell(const std::string& reason);

  const std::chrono::milliseconds patience_;
  const LogSink log_;
  const ForkGuard fork_guard_;
  std::atomic<std::int64_t> ends_{0};  // of the steady clock; 0: nobody waits for the end
  HttpClient client_;                  // of its own: its requests end where nobody waits any more
  std::mutex mutex_;                   // guards what follows
  std::deque<Upload> waiting_;
  std::unique_ptr<std::thread> thread_;
  bool sending_ = false;
  std::atomic<bool> told_{false};
};

}  // namespace cubinet
