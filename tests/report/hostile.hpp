// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/fake_cubin.hpp"
#include "support/text.hpp"

#include <cubinet/cubin_registry/bundle.hpp>

#include <string>
#include <vector>

namespace cubinet::test {

inline constexpr std::int64_t kTestNow = 1'800'000'000;  // the time of a page, in seconds since 1970

// Names that would leave their place in a page if they were written into it as they are. If one of
// them runs as a script, it sets the title of the page to "ran".
inline std::vector<std::string> hostile_names() {
  return {"<script>document.title='ran'</script>",
          "</td></tr></table><img src=x onerror=\"document.title='ran'\">",
          "\"><svg onload=\"document.title='ran'\">",
          "' onmouseover='document.title=1",
          "</style><script>document.title='ran'</script>",
          "]]><script>document.title='ran'</script>",
          "<!-- <script>",
          "javascript:document.title='ran'",
          "&lt;b&gt;&#60;i&#62;",
          "\xe2\x80\xae\xe2\x81\xa6gnp.rotsiger",
          "two\nlines\r\ttab",
          "zero\0inside",
          "\xff\xfe not UTF-8 \xc3",
          std::string(65'536, 'k')};
}

// Returns whether a page has none of the names as markup.
inline bool is_harmless(const std::string& page) {
  for (const char* markup :
       {"<script>document", "<img", "<svg onload", "<!-- <script", "<b>&#", "\xe2\x80\xae", "\xff"})
    if (contains(page, markup)) return false;
  return !contains(page, std::string(1'000, 'k'));
}

// A kernel of this name, with the name as a parameter too.
inline Cubin hostile_cubin(const std::string& name, std::uint8_t filler) {
  KernelSpec spec;
  spec.name = name;
  spec.set("mode", name);
  FakeCubin description;
  description.filler = filler;
  description.kernels = {{name, 0}};
  return make_cubin(spec, description);
}

}  // namespace cubinet::test
