// SPDX-License-Identifier: Apache-2.0
#include "kernel_event_log.hpp"

#include <cubinet/base/units.hpp>

#include <string>
#include <vector>

namespace cubinet {
namespace {

std::string message_of(const KernelEvent& event, const std::string& kernel) {
  std::string line = kernel;
  if (event.target) line += " for " + event.target->to_string();
  if (event.device >= 0) line += " on device " + std::to_string(event.device);
  if (!event.source) return line + (event.error ? ": " + event.error->to_line() : ": no build");
  line += event.source == KernelSource::compiled ? ": compiled"
                                                 : ": from " + std::string(to_string(*event.source));
  return line + " in " + format_seconds(event.total_seconds);
}

}  // namespace

void log_event(const LogSink& sink, const KernelEvent& event) {
  const bool compiled = event.source == KernelSource::compiled;
  const std::string kernel = event.spec.to_string();
  const std::string key = event.key.to_string();
  const std::string target = event.target ? event.target->to_string() : "";
  std::vector<LogField> fields = {{"event", "kernel"}, {"kernel", kernel}};
  if (event.target) {
    fields.push_back({"key", key});
    fields.push_back({"target", target});
  }
  if (event.device >= 0) fields.push_back({"device", std::int64_t{event.device}});
  if (!event.caller.empty()) fields.push_back({"caller", event.caller});
  if (event.source) fields.push_back({"source", to_string(*event.source)});
  if (event.error) fields.push_back({"error", to_string(event.error->code)});
  fields.push_back({"bytes", static_cast<std::int64_t>(event.bytes)});
  fields.push_back({"seconds", event.total_seconds});
  fields.push_back({"find_seconds", event.find_seconds});
  fields.push_back({"compile_seconds", event.compile_seconds});
  fields.push_back({"wait_seconds", event.wait_seconds});
  fields.push_back({"load_seconds", event.load_seconds});
  log(sink, compiled ? LogLevel::info : LogLevel::debug, message_of(event, kernel), fields);
}

}  // namespace cubinet
