/* SPDX-License-Identifier: Apache-2.0 */
#include <cuda.h>
#include <time.h>

typedef CUresult (*LaunchKernelEx)(const CUlaunchConfig*, CUfunction, void**, void**);

/* Launches the function `count` times with one block of 32 threads and returns the time of one
 * launch in nanoseconds, or a negative CUresult. `launch` is the driver's cuLaunchKernelEx. */
double bare_launches(void* launch, void* function, void* stream, int count, void** arguments) {
  struct timespec start, end;
  CUresult result = CUDA_SUCCESS;
  clock_gettime(CLOCK_MONOTONIC, &start);
  for (int i = 0; i < count; ++i) {
    CUlaunchConfig config = {0};
    config.gridDimX = config.gridDimY = config.gridDimZ = 1;
    config.blockDimX = 32;
    config.blockDimY = config.blockDimZ = 1;
    config.hStream = (CUstream)stream;
    const CUresult launched = ((LaunchKernelEx)launch)(&config, (CUfunction)function, arguments, 0);
    if (launched != CUDA_SUCCESS) result = launched;
  }
  clock_gettime(CLOCK_MONOTONIC, &end);
  if (result != CUDA_SUCCESS) return -(double)result;
  return ((double)(end.tv_sec - start.tv_sec) * 1e9 + (double)(end.tv_nsec - start.tv_nsec)) / count;
}
