// SPDX-License-Identifier: Apache-2.0
#include "support/failing_allocations.hpp"

#include <cubinet/kernel_templates/kernel_template.hpp>

using namespace cubinet;
using namespace cubinet::test;

TEST_CASE("memory that is exhausted anywhere in a template is an exception and no end" *
          doctest::test_suite("loop")) {
  const std::string good = R"(/* cubinet-template
{ "name": "scale", "interface": 1, "summary": "y = factor * x", "minimum_target": "sm_80",
  "parameters": [ {"name": "factor", "type": "int", "minimum": 1, "maximum": 1000, "summary": "the factor"},
                  {"name": "unroll", "type": "int", "values": [1, 2, 4], "default": 1, "summary": "unused"} ],
  "constraints": [ {"require": "factor > unroll", "message": "the factor is larger than what is unrolled"} ],
  "row": {"kernel_type": "'keeps'", "head_dim_qk": 128, "head_dim_v": 128},
  "kernels": [ {"name": "scale", "threads": ["128", 2], "dynamic_shared_bytes": "0", "parameter_bytes": 16} ] }
*/
)";
  std::string wrong = good;
  wrong.replace(wrong.find("128, \"head_dim_v"), 3, "1.5");
  for (const std::string& source : {good, wrong}) {
    const bool parses = KernelTemplate::parse(source, "scale.cu").has_value();
    CHECK(parses == (source == good));
    const auto failed = fail_each_allocation(
        3, [&] { return source; },
        [&](std::string& text) {
          const bool parsed = KernelTemplate::parse(std::move(text), "scale.cu").has_value();
          fail_allocation(0);
          CHECK(parsed == parses);
        });
    CHECK(failed > 50);
  }
}
