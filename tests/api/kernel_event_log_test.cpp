// SPDX-License-Identifier: Apache-2.0
#include "kernel_event_log.hpp"

#include <doctest/doctest.h>

#include <map>
#include <string>

using namespace cubinet;

namespace {

struct Logged {
  LogLevel level = LogLevel::error;
  std::string message;
  std::map<std::string, std::variant<std::string, std::int64_t, double>> fields;

  static Logged of(const KernelEvent& event) {
    Logged logged;
    log_event(
        [&](const LogRecord& record) {
          logged.level = record.level;
          logged.message = record.message;
          CHECK(record.fields.front().name == "event");
          for (const LogField& field : record.fields) {
            auto& value = logged.fields[std::string(field.name)];
            if (const auto* text = std::get_if<std::string_view>(&field.value)) {
              value = std::string(*text);
            } else if (const auto* number = std::get_if<std::int64_t>(&field.value)) {
              value = *number;
            } else {
              value = std::get<double>(field.value);
            }
          }
        },
        event);
    return logged;
  }
};

KernelEvent event_of(std::optional<KernelSource> source) {
  KernelEvent event;
  event.spec = KernelSpec{"scale", {}}.set("factor", 3);
  event.target = SmTarget{9, 0, TargetKind::specific};
  event.device = 1;
  event.caller = "decode";
  event.source = source;
  event.total_seconds = 1.5;
  event.compile_seconds = 1.25;
  return event;
}

}  // namespace

TEST_CASE("a compilation is logged at info with its facts as fields") {
  Logged logged = Logged::of(event_of(KernelSource::compiled));
  CHECK(logged.level == LogLevel::info);
  CHECK(logged.message == "scale(factor=3) for sm_90a on device 1: compiled in 1.50 s");
  CHECK(std::get<std::string>(logged.fields["kernel"]) == "scale(factor=3)");
  CHECK(std::get<std::string>(logged.fields["source"]) == "compiled");
  CHECK(std::get<std::int64_t>(logged.fields["device"]) == 1);
  CHECK(std::get<std::string>(logged.fields["caller"]) == "decode");
  CHECK(std::get<double>(logged.fields["seconds"]) == 1.5);
  CHECK(std::get<double>(logged.fields["compile_seconds"]) == 1.25);
  CHECK_FALSE(logged.fields.contains("error"));
}

TEST_CASE("a build that was found and a failure are logged at debug") {
  Logged found = Logged::of(event_of(KernelSource::bundle));
  CHECK(found.level == LogLevel::debug);
  CHECK(found.message == "scale(factor=3) for sm_90a on device 1: from bundle in 1.50 s");
  KernelEvent event = event_of({});
  event.error = Error{ErrorCode::compile_failed, "the source does not compile"};
  Logged failed = Logged::of(event);
  CHECK(failed.level == LogLevel::debug);
  CHECK(std::get<std::string>(failed.fields["error"]) == "compile_failed");
  CHECK_FALSE(failed.fields.contains("source"));
  event.error.reset();
  event.target.reset();
  event.device = -1;
  Logged missed = Logged::of(event);
  CHECK(missed.message == "scale(factor=3): no build");
  CHECK_FALSE(missed.fields.contains("device"));
  CHECK_FALSE(missed.fields.contains("key"));
}
