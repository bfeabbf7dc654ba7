# SPDX-License-Identifier: Apache-2.0
# Finds <cuda.h> and <nvrtc.h>, which are needed to build and at no other time: the driver and NVRTC are opened
# at run time, so there is no library to find and no nvcc.
#
# Defines cubinet::cuda_headers. Searched, in this order: CUDAToolkit_ROOT (CMake or environment), CUDA_HOME,
# CUDA_PATH, the toolkit of the nvcc on PATH, /usr/local/cuda, and the PyPI wheels nvidia-cuda-runtime and
# nvidia-cuda-nvrtc where scripts/ puts them (CUBINET_CUDA_WHEELS). Both headers have to come from one folder:
# a mixture of two releases would compile and then disagree about an enumerator.

cmake_path(SET CudaHeaders_DEFAULT_WHEELS NORMALIZE "${CMAKE_CURRENT_LIST_DIR}/../build/cuda-wheels")
set(CUBINET_CUDA_WHEELS
    "${CudaHeaders_DEFAULT_WHEELS}"
    CACHE PATH "Folder that holds the CUDA wheels (pip install --target)")

find_program(CudaHeaders_NVCC nvcc)
mark_as_advanced(CudaHeaders_NVCC)
set(CudaHeaders_NVCC_ROOT "")
if(CudaHeaders_NVCC)
  file(REAL_PATH "${CudaHeaders_NVCC}" CudaHeaders_NVCC_ROOT)
  cmake_path(GET CudaHeaders_NVCC_ROOT PARENT_PATH CudaHeaders_NVCC_ROOT)
  cmake_path(GET CudaHeaders_NVCC_ROOT PARENT_PATH CudaHeaders_NVCC_ROOT)
endif()

function(cubinet_has_nvrtc_header result candidate)
  cmake_path(GET candidate PARENT_PATH folder)
  if(NOT EXISTS "${folder}/nvrtc.h")
    set(${result} FALSE PARENT_SCOPE)
  endif()
endfunction()

find_file(
  CudaHeaders_CUDA_H cuda.h
  PATHS "${CUDAToolkit_ROOT}"
        ENV
        CUDAToolkit_ROOT
        ENV
        CUDA_HOME
        ENV
        CUDA_PATH
        "${CudaHeaders_NVCC_ROOT}"
        /usr/local/cuda
        "${CUBINET_CUDA_WHEELS}/nvidia/cu13"
  PATH_SUFFIXES include
  VALIDATOR cubinet_has_nvrtc_header
  NO_DEFAULT_PATH)
mark_as_advanced(CudaHeaders_CUDA_H)

set(CudaHeaders_VERSION "")
set(CudaHeaders_INCLUDE_DIR "")
if(CudaHeaders_CUDA_H)
  cmake_path(GET CudaHeaders_CUDA_H PARENT_PATH CudaHeaders_INCLUDE_DIR)
  file(STRINGS "${CudaHeaders_CUDA_H}" CudaHeaders_VERSION_LINE REGEX "^#define CUDA_VERSION [0-9]+" LIMIT_COUNT 1)
  if(CudaHeaders_VERSION_LINE MATCHES "([0-9]+)$")
    math(EXPR CudaHeaders_MAJOR "${CMAKE_MATCH_1} / 1000")
    math(EXPR CudaHeaders_MINOR "${CMAKE_MATCH_1} % 1000 / 10")
    set(CudaHeaders_VERSION "${CudaHeaders_MAJOR}.${CudaHeaders_MINOR}")
  endif()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  CudaHeaders
  REQUIRED_VARS CudaHeaders_INCLUDE_DIR
  VERSION_VAR CudaHeaders_VERSION
  REASON_FAILURE_MESSAGE
    "No folder holds both cuda.h and nvrtc.h. Install a CUDA toolkit of at least the version asked for, or run: pip install --target build/cuda-wheels 'nvidia-cuda-nvrtc==13.0.*' 'nvidia-cuda-runtime==13.0.*'"
)

if(CudaHeaders_FOUND AND NOT TARGET cubinet::cuda_headers)
  add_library(cubinet::cuda_headers INTERFACE IMPORTED)
  # An imported target's include folders are SYSTEM ones: NVIDIA's headers are not held to our warnings.
  target_include_directories(cubinet::cuda_headers INTERFACE "${CudaHeaders_INCLUDE_DIR}")
endif()
