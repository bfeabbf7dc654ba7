// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/bytes.hpp>
#include <cubinet/base/file_system.hpp>
#include <cubinet/session/workload_json.hpp>
#include <cubinet/session/workload_recorder.hpp>

#include <array>
#include <cerrno>
#include <sys/random.h>

namespace cubinet {
namespace {

thread_local int bindings = 0;

Result<std::string> new_recording_id() {
  std::array<std::byte, 16> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    return io_error("cannot get random numbers from the system", errno);
  return to_hex(bytes);
}

WorkloadRecording recording_counters(const Runtime::Counters& now) {
  return {now.process_hits,
          now.memory_hits + now.registry_hits + now.bundle_hits + now.compiled + now.imported_hits +
              now.server_hits,
          now.compiled, now.misses, now.failures};
}

// Returns a + b - c for each counter.
WorkloadRecording sum_less(const WorkloadRecording& a, const WorkloadRecording& b,
                           const WorkloadRecording& c) {
  return {a.hits + b.hits - c.hits, a.loads + b.loads - c.loads, a.compiled + b.compiled - c.compiled,
          a.misses + b.misses - c.misses, a.failures + b.failures - c.failures};
}

}  // namespace

WorkloadRecorder::Binding::Binding() {
  ++bindings;
}
WorkloadRecorder::Binding::~Binding() {
  --bindings;
}

Result<void> WorkloadRecorder::start(const ReadCounters& read) {
  std::unique_lock lock(mutex_);
  if (active()) return {};
  Result<void> begun;
  if (id_.empty()) {
    CUBINET_TRY_ASSIGN(id_, new_recording_id());
    begun = append(first_line_text(0));
  }
  started_ = recording_counters(read());
  active_.store(true, std::memory_order_relaxed);
  lock.unlock();
  warn_unless(begun);
  return {};
}

void WorkloadRecorder::stop(const ReadCounters& read) {
  const std::lock_guard lock(mutex_);
  if (!active()) return;
  stopped_ = counters(read);
  active_.store(false, std::memory_order_relaxed);
}

void WorkloadRecorder::note(const KernelEvent& event) {
  if (!active() || bindings > 0 || !event.source || !event.capability) return;
  add({event.spec, {WorkloadDevice{*event.capability}}});
}

void WorkloadRecorder::note(const WorkloadAttention& attention, const DeviceProperties& device) {
  if (active()) add({attention, {WorkloadDevice::of(device)}});
}

void WorkloadRecorder::add(WorkloadEntry entry) {
  std::unique_lock lock(mutex_);
  // One line is the recording's.
  if (workload_.size() + 1 >= most_lines_) {
    const bool was_logged = std::exchange(full_logged_, true);
    lock.unlock();  // the sink may read the recording
    if (!was_logged)
      log(log_, LogLevel::warning,
          "the recorded workload is full; what is used first from now on is left out");
    return;
  }
  entry.first_use = next_;
  const std::string line = folder_.empty() ? std::string() : line_text(entry_json(entry));
  // Attention is noted at every binding. The file has each entry once.
  const bool changed = workload_.add(std::move(entry));
  const auto appended = changed ? append(line) : Result<void>();
  next_ = workload_.size();
  lock.unlock();
  warn_unless(appended);
}

Result<void> WorkloadRecorder::append(const std::string& line) {
  if (folder_.empty() || !is_file_usable_) return {};
  const std::string text = line + "\n";
  auto appended = posix_file_system()->append(folder_ + "/" + id_ + ".workload", as_bytes(text));
  is_file_usable_ = appended.has_value();
  return appended;
}

// The sink may read the recording, so it is called without the lock.
void WorkloadRecorder::warn_unless(const Result<void>& appended) const {
  if (!appended)
    log(log_, LogLevel::warning, "the workload is recorded in memory only: " + appended.error().to_line());
}

void WorkloadRecorder::append_counters(const ReadCounters& read) {
  if (!fork_guard_.in_original_process()) return;
  std::unique_lock lock(mutex_);
  if (id_.empty()) return;
  const auto appended = append(line_text(recording_json(id_, counters(read))));
  lock.unlock();
  warn_unless(appended);
}

WorkloadRecording WorkloadRecorder::counters(const ReadCounters& read) const {
  return active() ? sum_less(stopped_, recording_counters(read()), started_) : stopped_;
}

Workload WorkloadRecorder::recorded(const ReadCounters& read) const {
  const std::lock_guard lock(mutex_);
  Workload copy = workload_;
  if (!id_.empty()) copy.add(id_, counters(read));
  return copy;
}

}  // namespace cubinet
