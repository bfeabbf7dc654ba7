// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/roff.hpp>

#include <doctest/doctest.h>

namespace cubinet {
namespace {

TEST_CASE("Text for roff has no requests, and characters that roff replaces by others are named") {
  CHECK(roff_escaped(".TH\n'quoted' a-b\\c\u2026") == "\\&.TH\n\\&\\(aqquoted\\(aq a\\-b\\ec...");
  CHECK(roff_escaped("a.b `c` ^ ~") == "a.b \\(gac\\(ga \\(ha \\(ti");
  CHECK(roff_bold("-o") == "\\fB\\-o\\fR");
  CHECK(roff_italic("FILE") == "\\fIFILE\\fR");
}

}  // namespace
}  // namespace cubinet
