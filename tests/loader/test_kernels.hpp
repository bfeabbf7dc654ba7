// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>
#include <cubinet/spec/cubin.hpp>
#include <cubinet/spec/sm_target.hpp>

#include <cstdint>
#include <functional>

namespace cubinet::test {

// Kernels of test_kernels.cpp, compiled for a target by the project's own compiler and kept for the process:
//   vector_add(float* out, const float* a, const float* b, unsigned count)
//   scale(ScaleArguments)
//   shared_sum(unsigned* out, unsigned words)       out[block] = sum of 1 … words, through dynamic shared
//   memory produce(unsigned* data, unsigned value, unsigned long long* times)   takes 2 ms; times[0] = when
//   it ended consume(const unsigned* data, unsigned* out, unsigned long long* times)   times[1] = when it
//   began meet(unsigned* arrived, unsigned* seen)         a barrier of the whole grid: needs a cooperative
//   launch
// Blocks of 128 threads; the entry points are in this order.
Cubin test_cubin(SmTarget target);
// cluster_ranks(unsigned* ranks, unsigned* sizes): for every block its rank and its cluster's size. 9.0 and
// up.
Cubin cluster_cubin(SmTarget target);
// apply(float* out), of 32 threads, and the variables that it uses: scale (__constant__ float[4]),
// ns::table<float> (float[8]), ns::counter (int, 7), and, which the template does not name, `undeclared`
// (int, 5) and shared_by_all (__managed__ int[2]).
Cubin globals_cubin(SmTarget target);

struct ScaleArguments {
  float* out;
  const float* in;
  float factor;
  std::uint32_t count;
};

// The same bytes under a changed record.
Cubin with_record(const Cubin& cubin, const std::function<void(CubinRecord&)>& change);
// Other bytes under a record that is true of their digest and size: what a faulty publisher would sign.
Cubin with_image(const Cubin& cubin, Bytes image);

}  // namespace cubinet::test
