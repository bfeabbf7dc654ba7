// SPDX-License-Identifier: Apache-2.0
#include "catalog_folder.hpp"
#include "support/ok.hpp"

#include <cubinet/base/json_value.hpp>
#include <cubinet/sources/catalog_report.hpp>

#include <doctest/doctest.h>

namespace cubinet {
namespace {

using test::ok;

SourceImportReport some_report() {
  std::map<std::string, Bytes> contents;
  SourceImportReport report;
  report.catalogs = {test::own_catalog(contents)};
  report.refused.push_back({"/x/manifest.json", {ErrorCode::corruption, "'a' is \x1b wrong"}});
  report.skipped.push_back({"/y/manifest.json", {ErrorCode::unsupported, "of others"}});
  return report;
}

TEST_CASE("The text of a report names catalogs, targets and what was left out") {
  CHECK(to_text(some_report()) ==
        "own of library 1.0: 1 kernel (1 for sm_80)\nskipped: of others\nrefused: 'a' is \\x1b wrong\n"
        "1 catalog, 1 kernel, 1 manifest skipped, 1 refused");
  SourceImportReport listed = some_report();
  listed.lists_kernels = true;
  listed.catalogs.front().differing_digests = 2;
  const std::string text = to_text(listed);
  CHECK(text.find("twice_kernel  sm_80  block 32x1x1  shared 0\n") == 0);
  CHECK(text.find("; 2 digests of its kernels differ from its list of files\n") != std::string::npos);
}

TEST_CASE("The JSON of a report has the kernels and the reasons") {
  const JsonValue document = ok(parse_json(to_json(some_report())));
  CHECK(document.find("kernels")->integer() == 1);
  CHECK(document.find("catalogs")->items().front().find("kernels")->items().front().text_of("symbol") ==
        "twice");
  CHECK(document.find("refused")->items().front().text_of("code") == "corruption");
  CHECK(document.find("skipped")->items().front().text_of("manifest") == "/y/manifest.json");
}

}  // namespace
}  // namespace cubinet
