// SPDX-License-Identifier: Apache-2.0
#include <cubinet/attention/measure.hpp>

#include <algorithm>
#include <cmath>

namespace cubinet {
namespace {

constexpr double kColdBytes = 256.0 * 1024 * 1024;

}  // namespace

std::uint32_t cold_copies(double kv_bytes, std::uint32_t runs) {
  const double needed = std::ceil(kColdBytes / std::max(kv_bytes, 1.0));
  auto copies = static_cast<std::uint32_t>(std::clamp(needed, 1.0, static_cast<double>(runs)));
  while (runs % copies != 0)
    ++copies;
  return copies;
}

Result<TimedRuns> TimedRuns::capture(const std::shared_ptr<const Device>& device, std::uint32_t runs,
                                     const Callback<Result<void>(std::uint32_t, CUstream)>& record) {
  CUBINET_TRY_ASSIGN(Stream stream, Stream::create(device));
  const auto all = [&]() -> Result<void> {
    for (std::uint32_t run = 0; run < runs; ++run) {
      CUBINET_TRY(record(run, stream.handle()));
    }
    return {};
  };
  CUBINET_TRY_ASSIGN(Graph graph, Graph::capture(stream, all));
  CUBINET_TRY_ASSIGN(Event begin, Event::create(device));
  CUBINET_TRY_ASSIGN(Event end, Event::create(device));
  return TimedRuns(runs, std::move(stream), std::move(graph), std::move(begin), std::move(end));
}

Result<double> TimedRuns::seconds_a_run(int launches) const {
  CUBINET_TRY(graph_.launch(stream_));
  CUBINET_TRY(begin_.record(stream_));
  for (int i = 0; i < launches; ++i) {
    CUBINET_TRY(graph_.launch(stream_));
  }
  CUBINET_TRY(end_.record(stream_));
  CUBINET_TRY(end_.synchronize());
  CUBINET_TRY_ASSIGN(const float milliseconds, end_.milliseconds_since(begin_));
  return static_cast<double>(milliseconds) / 1e3 / (static_cast<double>(runs_) * launches);
}

}  // namespace cubinet
