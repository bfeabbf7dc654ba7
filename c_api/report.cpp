// SPDX-License-Identifier: Apache-2.0
#include "handles.hpp"
#include "structures.hpp"

#include <cubinet/report.hpp>

#include <fmt/format.h>

using namespace cubinet;
using namespace cubinet::c_api;

cubinet_status cubinet_report(const cubinet_config* config, const cubinet_string* subjects, size_t count,
                              cubinet_text** html, cubinet_error** error) {
  return run_call(error, [&]() -> Result<void> {
    CUBINET_TRY(check_pointer(config, "config"));
    CUBINET_TRY(check_pointer(html, "html"));
    if (count != 0) CUBINET_TRY(check_list(subjects, count, "subjects"));
    std::vector<std::string> places;
    for (std::size_t i = 0; i < count; ++i) {
      CUBINET_TRY_ASSIGN(places.emplace_back(), text_of(subjects[i], fmt::format("subjects[{}]", i)));
    }
    const SessionOptions session = config->options;  // the caller may change it meanwhile
    CUBINET_TRY_ASSIGN(std::string page, html_report(session, places));
    *html = make_text(std::move(page));
    return {};
  });
}
