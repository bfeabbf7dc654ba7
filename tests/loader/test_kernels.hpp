// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>
#include <cubinet/spec/cubin.hpp>
#include <cubinet/spec/sm_target.hpp>

#include <cstdint>
#include <functional>

namespace cubinet::test {

// Returns the kernels of test_kernels.cpp, compiled for a target by the project's own compiler and
// cached for the process:
//   vector_add(float* out, const float* a, const float* b, unsigned count)
//   scale(ScaleArguments)
//   shared_sum(unsigned* out, unsigned words)
//       out[block] = sum of 1 … words, through dynamic shared memory
//   produce(unsigned* data, unsigned value, unsigned long long* times)
//       takes 2 ms; times[0] = the time of its end
//   consume(const unsigned* data, unsigned* out, unsigned long long* times)
//       times[1] = the time of its start
//   meet(unsigned* arrived, unsigned* seen)
//       a barrier of the whole grid: needs a cooperative launch
// The blocks have 128 threads. The entry points are in this order.
Cubin test_cubin(SmTarget target);
// Returns cluster_ranks(unsigned* ranks, unsigned* sizes), which writes each block's rank and its
// cluster's size. 9.0 and up.
Cubin cluster_cubin(SmTarget target);
// Returns apply(float* out), of 32 threads, and the variables that it uses: scale (__constant__
// float[4]), ns::table<float> (float[8]), ns::counter (int, 7), and two that the template does not
// name, `undeclared` (int, 5) and shared_by_all (__managed__ int[2]).
Cubin globals_cubin(SmTarget target);

struct ScaleArguments {
  float* out;
  const float* in;
  float factor;
  std::uint32_t count;
};

// Returns the same bytes under a changed record.
Cubin with_record(const Cubin& cubin, const std::function<void(CubinRecord&)>& change);
// Returns other bytes under a record with their digest and size, as a faulty publisher would sign
// them.
Cubin with_image(const Cubin& cubin, Bytes image);

}  // namespace cubinet::test
