// SPDX-License-Identifier: Apache-2.0
#include "upload_queue.hpp"

#include <system_error>

namespace cubinet {
namespace {

// The most pending uploads. Each holds an image, so a server that is slower than this node's
// compiler must not fill its memory.
constexpr std::size_t kMostWaiting = 256;

std::int64_t steady_now() {
  return std::chrono::steady_clock::now().time_since_epoch().count();
}

HttpSettings until(HttpSettings settings, Callback<bool()> cancelled) {
  settings.cancelled = std::move(cancelled);
  return settings;
}

}  // namespace

UploadQueue::UploadQueue(const HttpSettings& settings, std::chrono::milliseconds patience, LogSink log)
    : patience_(patience), log_(std::move(log)), client_(until(settings, [this] { return is_over(); })) {}

UploadQueue::~UploadQueue() {
  // A forked child does not have the thread, and the lock may be held forever.
  if (!fork_guard_.in_original_process()) {
    static_cast<void>(thread_.release());
    return;
  }
  ends_ = steady_now() + std::chrono::steady_clock::duration(patience_).count();
  if (thread_ != nullptr) thread_->join();
}

bool UploadQueue::is_over() const {
  const std::int64_t ends = ends_;
  return ends != 0 && steady_now() > ends;
}

void UploadQueue::tell(const std::string& reason) {
  log(log_, told_.exchange(true) ? LogLevel::debug : LogLevel::warning,
      "a build is not there for other nodes: " + reason);
}

void UploadQueue::push(Upload upload) {
  if (!fork_guard_.in_original_process()) return;
  const std::lock_guard lock(mutex_);
  if (waiting_.size() >= kMostWaiting) return tell("256 others wait to be sent");
  waiting_.push_back(std::move(upload));
  if (sending_) return;
  if (thread_ != nullptr) thread_->join();  // it has no work left
  thread_.reset();
  try {
    thread_ = std::make_unique<std::thread>([this] { send_all(); });
    sending_ = true;
  } catch (const std::system_error& refused) {
    waiting_.clear();
    tell(refused.what());
  }
}

void UploadQueue::send_all() {
  const HttpClient::Session session(client_);
  while (true) {
    Upload upload;
    {
      const std::lock_guard lock(mutex_);
      if (waiting_.empty() || is_over()) {
        if (!waiting_.empty()) tell("this process ends before it was sent");
        sending_ = false;
        return;
      }
      upload = std::move(waiting_.front());
      waiting_.pop_front();
    }
    if (const auto sent = upload(client_); !sent) tell(sent.error().to_line());
  }
}

}  // namespace cubinet
