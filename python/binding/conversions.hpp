// SPDX-License-Identifier: Apache-2.0
#pragma once

// Every source includes nanobind through this header. A source that lacks the conversion of a type
// compiles, takes the type for a class and fails when it runs.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
