// SPDX-License-Identifier: Apache-2.0
// The page in a browser: Debian's chromium, without a window.
#include "hostile.hpp"
#include "support/ok.hpp"
#include "support/skip.hpp"
#include "support/temp_dir.hpp"

#include <cubinet/cubin_registry/home.hpp>
#include <cubinet/report.hpp>
#include <cubinet/session/workload.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <cstdlib>

using namespace cubinet;
using namespace cubinet::test;

namespace {

// Opens the page in a frame of this width, uses the tables as a reader does, and writes what it
// finds into <pre id="found">.
constexpr const char* kProbe = R"(
const frame = document.getElementById("frame");
frame.addEventListener("load", () => {
  const page = frame.contentDocument;
  const found = {};
  found.title = page.title;
  found.outer_title = document.title;
  found.width = page.documentElement.scrollWidth;
  found.scripts = page.scripts.length;
  found.images = page.images.length;
  found.elements = [...new Set([...page.querySelectorAll("*")].map((each) => each.localName))].sort();
  found.handlers = [...page.querySelectorAll("*")].filter(
      (each) => each.getAttributeNames().some((name) => name.startsWith("on") || name === "style")).length;
  found.links = [...page.querySelectorAll("[href], [src]")].filter(
      (each) => !(each.getAttribute("href") || "").startsWith("#")).length;
  const table = page.querySelector("table.data.kernels");
  found.styled = getComputedStyle(page.querySelector(".facts")).display;
  found.rows = table.tBodies[0].rows.length;
  const sizes = () => [...table.tBodies[0].rows].map((row) => Number(row.cells[2].dataset.sort));
  const button = table.tHead.rows[0].cells[2].querySelector("button");
  button.click();
  const ascending = sizes();
  button.click();
  found.sorted = ascending.every((size, i) => i === 0 || ascending[i - 1] <= size) &&
      sizes().every((size, i) => size === ascending[ascending.length - 1 - i]);
  const input = page.querySelector("input[type=search]");
  input.value = "<SCRIPT> mode";
  input.dispatchEvent(new Event("input"));
  found.filtered = [...table.tBodies[0].rows].filter((row) => !row.hidden).length;
  found.status = page.querySelector("[role=status]").textContent;
  document.getElementById("found").textContent = JSON.stringify(found);
});
)";

std::string attribute_value(const std::string& text) {
  std::string value;
  for (const char c : text) {
    if (c == '&') {
      value += "&amp;";
    } else if (c == '"') {
      value += "&quot;";
    } else {
      value += c;
    }
  }
  return value;
}

std::string chromium() {
  for (const char* name : {"/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"})
    if (std::filesystem::exists(name)) return name;
  return {};
}

// Returns what the probe finds in the page at a width of so many pixels.
nlohmann::json probe(const TempDir& folder, const std::string& page, int width) {
  write_file(folder / "probe.html",
             "<!DOCTYPE html><meta charset=\"utf-8\"><title>probe</title><pre id=\"found\"></pre>"
             "<iframe id=\"frame\" width=\"" +
                 std::to_string(width) +
                 "\" height=\"800\" style=\"border:0\"></iframe><script data-page=\"" +
                 attribute_value(page) + "\">" + kProbe +
                 "frame.srcdoc = document.currentScript.dataset.page;</script>");
  const std::string command =
      chromium() + " --headless --hide-scrollbars --no-sandbox --disable-gpu --user-data-dir='" +
      (folder / "profile").string() + "' --virtual-time-budget=10000 --dump-dom 'file://" +
      (folder / "probe.html").string() + "' 2>/dev/null";
  std::FILE* pipe = ::popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string dom;
  char buffer[4096];
  for (std::size_t count = 0; (count = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;)
    dom.append(buffer, count);
  REQUIRE(::pclose(pipe) == 0);
  const std::size_t begin = dom.find("<pre id=\"found\">");
  REQUIRE(begin != std::string::npos);
  const std::size_t end = dom.find("</pre>", begin);
  std::string found = dom.substr(begin + 16, end - begin - 16);
  for (const auto& [entity, character] :
       {std::pair("&lt;", "<"), std::pair("&gt;", ">"), std::pair("&amp;", "&")}) {
    for (std::size_t at = 0; (at = found.find(entity, at)) != std::string::npos; ++at)
      found.replace(at, std::string_view(entity).size(), character);
  }
  return nlohmann::json::parse(found);
}

}  // namespace

TEST_CASE("a page of hostile names fits a phone and a screen, runs its own script alone, sorts and filters") {
  if (chromium().empty()) return skip("chromium is not installed");
  const TempDir folder;
  SessionOptions session;
  session.home = (folder / "home").string();
  session.compiler.library = "/absent.so";
  const auto home = ok(Home::open({.path = session.home}));
  const std::string bundle = (folder / "<script>document.title='ran'<.bundle").string();
  std::vector<Cubin> cubins;
  Workload workload;
  for (const std::string& name : hostile_names()) {
    const auto number = static_cast<std::uint8_t>(cubins.size());
    cubins.push_back(hostile_cubin(name, number));
    ok(home->publish(cubins.back()));
    KernelSpec spec;
    spec.name = name;
    workload.add({spec, {WorkloadDevice{{9, 0}, 132, 0, name.substr(0, 100)}}, number});
  }
  ok(create_bundle(bundle, cubins, {}));
  ok(workload.write((folder / "w.workload").string()));
  write_file(folder / "r.json",
             R"({"rows": [{"name": "<img src=x onerror=document.title='ran'>", "unit": "us",
    "median": {"a": 1, "b": 2}, "ratios": {"a : b": {"median": 0.5, "goal": 1, "met": true}}}]})");
  const std::string page = ok(html_report(
      session, {session.home, bundle, (folder / "w.workload").string(), (folder / "r.json").string()}));
  for (const int width : {390, 1280}) {
    CAPTURE(width);
    const nlohmann::json found = probe(folder, page, width);
    CHECK(found["width"] == width);
    CHECK(found["title"] == "Report on 4 subjects – cubinet");
    CHECK(found["outer_title"] == "probe");
    CHECK(found["scripts"] == 1);
    CHECK(found["images"] == 0);
    CHECK(found["handlers"] == 0);
    CHECK(found["links"] == 0);
    CHECK(found["styled"] == "grid");
    CHECK(found["rows"] == cubins.size());
    CHECK(found["sorted"] == true);
    CHECK(found["filtered"] == 4);
    CHECK(found["status"] == "4 of " + std::to_string(cubins.size()));
    for (const auto& element : found["elements"]) {
      CAPTURE(element.get<std::string>());
      CHECK_FALSE(element == "img");
      CHECK_FALSE(element == "iframe");
    }
  }
}
