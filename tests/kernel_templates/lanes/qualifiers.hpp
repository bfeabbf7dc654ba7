// SPDX-License-Identifier: Apache-2.0
#pragma once
// CUDA's words for functions and variables.

// NOLINTBEGIN(bugprone-reserved-identifier)
#define __device__
#define __host__
#define __global__
#define __shared__
#define __grid_constant__
#define __align__(bytes)
#define __launch_bounds__(...)
#define __cluster_dims__(...)
// NOLINTEND(bugprone-reserved-identifier)
