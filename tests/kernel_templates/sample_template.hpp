// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/kernel_templates/kernel_template.hpp>

#include <string>

namespace cubinet::test {

// A template with a parameter of each type, a constraint, two kernels and every optional member.
inline const std::string kSampleSource = R"cu(// SPDX-License-Identifier: Apache-2.0
/* An ordinary comment before it. */
/* cubinet-template
{
  "name": "sample",
  "interface": 3,
  "summary": "For tests",
  "minimum_target": "sm_80",
  "parameters": [
    {"name": "dtype_q", "type": "dtype", "values": ["bf16", "fp16", "fp32"], "default": "bf16", "summary": "type"},
    {"name": "dtype_kv", "type": "dtype", "values": ["bf16", "fp16"], "default": "bf16"},
    {"name": "head_dim", "type": "int", "values": [64, 128, 256]},
    {"name": "rows", "type": "int", "minimum": 8, "maximum": 4096, "multiple_of": 8, "default": 64},
    {"name": "mask", "type": "choice", "values": ["causal", "dense"], "default": "causal"},
    {"name": "window", "type": "bool", "default": false}
  ],
  "constraints": [
    {"require": "dtype_q == dtype_kv", "message": "dtype_kv must be the same as dtype_q"},
    {"require": "!window || mask == 'causal'", "message": "a window needs mask causal"}
  ],
  "kernels": [
    {"name": "sample", "threads": "rows * 2", "dynamic_shared_bytes": "rows * head_dim * bytes(dtype_q)",
     "parameter_bytes": 24, "cluster": [2, "1", "window ? 2 : 1"], "programmatic_launch": true},
    {"name": "reduce", "threads": 128, "symbol_expression": "my::reduce<cubinet::parameters::head_dim>",
     "cooperative": true}
  ]
}
*/
#include <cubinet/parameters.cuh>
)cu";

}  // namespace cubinet::test
