// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/text.hpp>
#include <cubinet/session/log_json.hpp>
#include <cubinet/session/utc_time.hpp>

#include <nlohmann/json.hpp>

namespace cubinet {
namespace {

std::string one_line(const nlohmann::ordered_json& object) {
  return printable_json(object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

void add_fields(nlohmann::ordered_json& object, const LogRecord& record) {
  for (const LogField& field : record.fields)
    std::visit([&](const auto& value) { object[std::string(field.name)] = value; }, field.value);
}

}  // namespace

std::string log_line(const LogRecord& record, std::chrono::system_clock::time_point time) {
  nlohmann::ordered_json object = {{"time", to_text(std::chrono::floor<std::chrono::milliseconds>(time))},
                                   {"level", to_string(record.level)},
                                   {"message", record.message}};
  add_fields(object, record);
  return one_line(object);
}

std::string log_fields(const LogRecord& record) {
  nlohmann::ordered_json object = nlohmann::ordered_json::object();
  add_fields(object, record);
  return one_line(object);
}

}  // namespace cubinet
