// SPDX-License-Identifier: Apache-2.0
// A function without content that takes eight tensors as nanobind's ndarray, and eight numbers.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

namespace {

using Array = nanobind::ndarray<>;

void nothing(Array, Array, Array, Array, Array, Array, Array, Array, int, int, int, int, int, int, int, int) {
}

}  // namespace

NB_MODULE(bench_ndarray_peer, module) {
  module.def("nothing", nothing);
}
