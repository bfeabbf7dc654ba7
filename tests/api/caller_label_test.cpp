// SPDX-License-Identifier: Apache-2.0
#include <cubinet/caller_label.hpp>

#include <doctest/doctest.h>

#include <string>
#include <thread>

namespace cubinet {
namespace {

TEST_CASE("the innermost scope counts, and its end brings the outer label back") {
  CHECK(CallerLabel::current().empty());
  {
    const CallerLabel outer("prefill");
    {
      const CallerLabel inner("decode");
      CHECK(CallerLabel::current() == "decode");
      CallerLabel::set("sampling");
      CHECK(CallerLabel::current() == "sampling");
    }
    CHECK(CallerLabel::current() == "prefill");
    const CallerLabel none("");
    CHECK(CallerLabel::current().empty());
  }
  CHECK(CallerLabel::current().empty());
}

TEST_CASE("a label belongs to its thread") {
  const CallerLabel label("decode");
  bool empty = false;
  std::thread([&] { empty = CallerLabel::current().empty(); }).join();
  CHECK(empty);
}

TEST_CASE("a long label is cut after a whole character") {
  const std::string longest(kMaximumCallerLabel, 'a');
  CHECK(CallerLabel(longest + "b").current() == longest);
  for (const std::string character : {"\u00e4", "\u20ac", "\U0001f600"}) {
    for (std::size_t fitting = 0; fitting <= character.size(); ++fitting) {
      const std::string before(kMaximumCallerLabel - fitting, 'a');
      const CallerLabel label(before + character + "b");
      CHECK(CallerLabel::current() == (fitting == character.size() ? before + character : before));
    }
  }
}

}  // namespace
}  // namespace cubinet
