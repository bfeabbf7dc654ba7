// SPDX-License-Identifier: Apache-2.0
#include "hostile.hpp"
#include "support/ok.hpp"
#include "support/temp_dir.hpp"

#include <cubinet/cubin_registry/home.hpp>
#include <cubinet/report.hpp>
#include <cubinet/session/workload.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

using namespace cubinet;
using namespace cubinet::test;

namespace {

struct ReportSetting {
  ReportSetting() {
    session.home = (folder / "home").string();
    session.compiler.library = "/absent.so";
  }
  std::string bundle(const std::string& kernel) const {
    const std::string file = (folder / (kernel + ".bundle")).string();
    ok(create_bundle(file, {make_cubin({kernel, {}})}, {}));
    return file;
  }
  std::string workload() const {
    const std::string file = (folder / "w.workload").string();
    Workload workload;
    workload.add({KernelSpec{"one", {}}, {WorkloadDevice{{9, 0}}}, 0});
    ok(workload.write(file));
    return file;
  }

  TempDir folder;
  SessionOptions session;
};

}  // namespace

TEST_CASE("without a subject the page is about the home, which must exist") {
  const ReportSetting setting;
  CHECK(html_report(setting.session, {}).error().code == ErrorCode::unavailable);
  ok(ok(Home::open({.path = setting.session.home}))->publish(make_cubin({"one", {}})));
  CHECK(contains(ok(html_report(setting.session, {})), "<title>Home " + setting.session.home));
  SessionOptions none;
  CHECK(html_report(none, {}).error().code == ErrorCode::unavailable);
}

TEST_CASE("a workload is compared with the bundles beside it, and not with the home") {
  const ReportSetting setting;
  ok(ok(Home::open({.path = setting.session.home}))->publish(make_cubin({"one", {}})));
  const std::string served = "Every entry is served without compiling";
  CHECK(contains(ok(html_report(setting.session, {setting.workload()})), served));
  CHECK(contains(ok(html_report(setting.session, {setting.workload(), setting.bundle("one")})), served));
  const std::string page = ok(html_report(setting.session, {setting.bundle("two"), setting.workload()}));
  CHECK_FALSE(contains(page, served));
  CHECK(page.find("<h2 id=\"section-1-title\"><span>Bundle</span>") != std::string::npos);
}

TEST_CASE("without a store beside it a workload is compared with the stores of the session") {
  ReportSetting setting;
  CHECK(contains(ok(html_report(setting.session, {setting.workload()})),
                 "1 of 1 entry can neither be compiled nor served by any store."));
  setting.session.bundles = {{setting.bundle("one")}};
  CHECK(
      contains(ok(html_report(setting.session, {setting.workload()})), "by " + setting.bundle("one") + "."));
  CHECK_FALSE(std::filesystem::exists(setting.session.home));
}

TEST_CASE("a report changes nothing") {
  const ReportSetting setting;
  ok(ok(Home::open({.path = setting.session.home}))->publish(make_cubin({"one", {}})));
  const auto files = [&] {
    std::vector<std::string> names;
    for (const auto& file : std::filesystem::recursive_directory_iterator(setting.session.home))
      names.push_back(file.path().string());
    std::sort(names.begin(), names.end());
    return names;
  };
  const auto before = files();
  ok(html_report(setting.session, {setting.session.home, setting.workload()}));
  CHECK(files() == before);
}

TEST_CASE("a subject that cannot be opened is the error of the report") {
  const ReportSetting setting;
  CHECK(html_report(setting.session, {setting.bundle("one"), "/absent"}).error().code ==
        ErrorCode::not_found);
}
