// SPDX-License-Identifier: Apache-2.0
#include "embedded_assets.hpp"

#include <cubinet/report/page.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace cubinet {
namespace {

const EmbeddedFile& asset(std::string_view name) {
  const auto files = embedded_report_assets();
  const auto found =
      std::find_if(files.begin(), files.end(), [&](const auto& file) { return file.name == name; });
  return *found;
}

std::string section_id(std::size_t number) {
  return fmt::format("section-{}", number + 1);
}

Html contents_of(const std::vector<Section>& sections) {
  if (sections.size() < 2) return {};
  Html items;
  for (std::size_t i = 0; i < sections.size(); ++i) {
    items += element("li", link_to(section_id(i), element("span", sections[i].kind) + Html(" ") +
                                                      name_html(sections[i].title)));
  }
  return element("nav", {{"aria-label", "Sections"}}, element("ol", items));
}

}  // namespace

std::string report_page(const std::vector<Section>& sections, std::int64_t now) {
  const std::string title = sections.size() == 1
                                ? sections.front().kind + " " + shown_name(sections.front().title)
                                : fmt::format("Report on {} subjects", sections.size());
  Html body = element("header", element("h1", "Report by cubinet") +
                                    element("p", "Made " + format_utc(now) + " by version " CUBINET_VERSION));
  body += contents_of(sections);
  Html main;
  for (std::size_t i = 0; i < sections.size(); ++i) {
    const Section& section = sections[i];
    const std::string heading = section_id(i) + "-title";
    main += element("section", {{"id", section_id(i)}, {"aria-labelledby", heading}},
                    element("h2", {{"id", heading}},
                            element("span", section.kind) + Html(" ") + name_html(section.title)) +
                        section.content);
  }
  body += element("main", main);
  return html_document(title + " – cubinet", asset("report.css"), asset("report.js"), body);
}

}  // namespace cubinet
