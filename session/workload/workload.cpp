// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/file_system.hpp>
#include <cubinet/base/text.hpp>
#include <cubinet/session/workload.hpp>
#include <cubinet/session/workload_json.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace cubinet {
namespace {

constexpr std::size_t kRejectedLinesKept = 100;
constexpr std::uint64_t kLatestUse = INT64_MAX;  // the greatest `order` that a reader accepts
constexpr const char* kWorkloadRemedy = "record it again, or merge the workloads that it was made from";

// Takes the next line off the text.
std::string_view next_workload_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

// Parses the first line and returns the number of lines that follow it.
Result<std::uint64_t> lines_announced(std::string_view line, const std::string& name) {
  const Error none{ErrorCode::invalid_argument, name + ": the first line is not that of a workload",
                   R"(it must be {"cubinet_workload":1,"lines":N})"};
  const auto parsed = parse_json(line);
  if (!parsed) return none;
  const JsonValue* version = parsed->find("cubinet_workload");
  if (version == nullptr || !version->integer() || *version->integer() < 1) return none;
  if (*version->integer() > kWorkloadVersion)
    return Error{ErrorCode::unsupported,
                 fmt::format("{}: version {} of workloads is newer than this library, which reads {}", name,
                             *version->integer(), kWorkloadVersion),
                 "use a newer cubinet, or record the workload with this one"};
  const JsonValue* lines = parsed->find("lines");
  if (lines == nullptr || !lines->integer() || *lines->integer() < 0) return none;
  return static_cast<std::uint64_t>(*lines->integer());
}

// Clears what the text does not have, so that a workload equals what is read back.
void keep_stored_part(WorkloadAttention& attention) {
  attention.problem.kv_lengths.clear();
  attention.options.costs = nullptr;
  attention.options.occupancy.clear();
}

}  // namespace

WorkloadDevice WorkloadDevice::of(const DeviceProperties& device) {
  const DeviceFacts facts = DeviceFacts::of(device);
  return {facts.capability, facts.sm_count, facts.maximum_shared_bytes, device.name};
}

std::string WorkloadEntry::to_string() const {
  if (const auto* spec = std::get_if<KernelSpec>(&work)) return printable(spec->to_string());
  const AttentionProblem& problem = std::get<WorkloadAttention>(work).problem;
  return fmt::format("attention ({}) of batch {}, {} query and {} KV tokens, {} and {} heads of {}",
                     problem.prefill ? "prefill" : "decode", problem.batch, problem.q_len, problem.kv_len,
                     problem.heads_q, problem.heads_kv, problem.head_dim_qk);
}

void Workload::reject(Error error) {
  if (rejected_.size() == kRejectedLinesKept)
    rejected_.back() = {error.code, "further lines of the workload are left out, too", kWorkloadRemedy};
  if (rejected_.size() < kRejectedLinesKept) rejected_.push_back(std::move(error));
}

Result<void> Workload::parse_line(std::string_view line) {
  CUBINET_TRY_ASSIGN(const JsonValue value, parse_json(line));
  if (value.find("recording") != nullptr) {
    CUBINET_TRY_ASSIGN(const auto recording, recording_of(value));
    add(recording.first, recording.second);
    return {};
  }
  CUBINET_TRY_ASSIGN(WorkloadEntry entry, entry_of(value));
  add(std::move(entry));
  return {};
}

Result<Workload> Workload::parse(std::string_view text, const std::string& name) {
  CUBINET_TRY_ASSIGN(const std::uint64_t announced, lines_announced(next_workload_line(text), name));
  Workload workload;
  std::uint64_t read = 0;
  while (!text.empty() && read < kMaximumWorkloadLines) {
    ++read;
    const auto parsed = workload.parse_line(next_workload_line(text));
    if (parsed) continue;
    Error error = parsed.error();
    error.message = fmt::format("{}, line {}: {}", name, read + 1, error.message);
    error.remedy = kWorkloadRemedy;
    workload.reject(std::move(error));
  }
  if (!text.empty()) {
    workload.reject({ErrorCode::invalid_argument,
                     fmt::format("{}: the lines after line {} are left out", name, read + 1),
                     "a workload has at most 100000 lines after the first"});
  } else if (read < announced) {
    workload.reject({ErrorCode::corruption,
                     fmt::format("{} is truncated: it has {} of {} lines", name, read, announced),
                     kWorkloadRemedy});
  }
  return workload;
}

Result<Workload> Workload::read(const std::string& path) {
  const auto files = posix_file_system();
  CUBINET_TRY_ASSIGN(const Bytes bytes, files->read_range(path, 0, kMaximumWorkloadBytes + 1));
  std::string_view text = as_text(bytes);
  const std::string name = fmt::format("'{}'", printable(path));
  const bool too_large = text.size() > kMaximumWorkloadBytes;
  // The last line that fits may be cut.
  if (too_large) text = text.substr(0, text.substr(0, kMaximumWorkloadBytes).rfind('\n') + 1);
  CUBINET_TRY_ASSIGN(Workload workload, parse(text, name));
  if (too_large)
    workload.reject({ErrorCode::invalid_argument, name + ": the lines beyond 64 MiB are left out",
                     "a workload has at most 64 MiB"});
  return workload;
}

std::string Workload::to_text() const {
  std::string text = first_line_text(recordings_.size() + size()) + "\n";
  for (const auto& [id, counters] : recordings_)
    text += line_text(recording_json(id, counters)) + "\n";
  for (const WorkloadEntry& entry : entries())
    text += line_text(entry_json(entry)) + "\n";
  return text;
}

Result<std::string> Workload::to_stored_text() const {
  const std::size_t lines = recordings_.size() + size();
  std::string text = lines <= kMaximumWorkloadLines ? to_text() : std::string();
  if (!text.empty() && text.size() <= kMaximumWorkloadBytes) return text;
  return Error{ErrorCode::invalid_argument,
               fmt::format("the workload has {}, which is too large", plural(lines, "line")),
               "a workload has at most 100000 lines after the first, and 64 MiB: keep several workloads"};
}

Result<void> Workload::write(const std::string& path) const {
  CUBINET_TRY_ASSIGN(const std::string text, to_stored_text());
  return write_file_atomically(*posix_file_system(), path, as_bytes(text));
}

bool Workload::add(WorkloadEntry entry) {
  if (auto* attention = std::get_if<WorkloadAttention>(&entry.work)) keep_stored_part(*attention);
  std::string text = line_text(work_json(entry));
  const auto [position, added] = entries_.try_emplace(std::move(text), entry);
  if (added) return true;
  WorkloadEntry& known = position->second;
  const bool was_later = known.first_use > entry.first_use;
  known.first_use = std::min(known.first_use, entry.first_use);
  const std::size_t devices = known.devices.size();
  known.devices.merge(entry.devices);
  return was_later || known.devices.size() > devices;
}

void Workload::add(const std::string& recording, const WorkloadRecording& counters) {
  WorkloadRecording& known = recordings_[recording];
  known = {std::max(known.hits, counters.hits), std::max(known.loads, counters.loads),
           std::max(known.compiled, counters.compiled), std::max(known.misses, counters.misses),
           std::max(known.failures, counters.failures)};
}

void Workload::merge(const Workload& other) {
  for (const auto& [text, entry] : other.entries_)
    add(entry);
  for (const auto& [id, counters] : other.recordings_)
    add(id, counters);
  const std::vector<Error> rejected = other.rejected_;
  for (const Error& error : rejected)
    reject(error);
}

Result<void> add_to_workload(const std::string& path, const WorkloadAttention& attention,
                             const WorkloadDevice& device) {
  return add_to_workload(path, std::vector<WorkloadEntry>{{attention, {device}}});
}

Result<void> add_to_workload(const std::string& path, std::vector<WorkloadEntry> entries) {
  auto read = Workload::read(path);
  if (!read && read.error().code != ErrorCode::not_found) return read.error();
  Workload workload = read ? *std::move(read) : Workload();
  if (!workload.rejected().empty()) return workload.rejected().front();
  std::uint64_t next = 0;
  for (const WorkloadEntry& entry : workload.entries())
    next = std::max(next, std::min(entry.first_use, kLatestUse - 1) + 1);
  for (WorkloadEntry& entry : entries) {
    entry.first_use = std::min(next++, kLatestUse);
    workload.add(std::move(entry));
  }
  return workload.write(path);
}

std::vector<WorkloadEntry> Workload::entries() const {
  std::vector<WorkloadEntry> sorted;
  sorted.reserve(entries_.size());
  for (const auto& [text, entry] : entries_)
    sorted.push_back(entry);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const WorkloadEntry& a, const WorkloadEntry& b) { return a.first_use < b.first_use; });
  return sorted;
}

}  // namespace cubinet
