# SPDX-License-Identifier: Apache-2.0
# Finds <cuda.h> and <nvrtc.h>, which are needed only to build. The driver and NVRTC are opened at
# run time, so neither a library nor nvcc is needed.
#
# Defines cubinet::cuda_headers and CudaHeaders_PREFIX, the folder above include/, where programs in
# the build folder look for NVRTC first. Searches in this order: CUDAToolkit_ROOT (CMake or
# environment), CUDA_HOME, CUDA_PATH, the toolkit of the nvcc on PATH, /usr/local/cuda, and the PyPI
# wheels nvidia-cuda-runtime and nvidia-cuda-nvrtc at the location used by scripts/
# (CUBINET_CUDA_WHEELS). Both headers must come from one folder: headers of two releases would
# compile and then disagree about an enumerator. The search is repeated if the machine has changed,
# so that a toolkit that was removed or replaced by an older one is no longer used.

cmake_path(SET CudaHeaders_DEFAULT_WHEELS NORMALIZE "${CMAKE_CURRENT_LIST_DIR}/../build/cuda-wheels")
set(CUBINET_CUDA_WHEELS
    "${CudaHeaders_DEFAULT_WHEELS}"
    CACHE PATH "Folder that holds the CUDA wheels (pip install --target)")

if(CudaHeaders_NVCC AND NOT EXISTS "${CudaHeaders_NVCC}")
  unset(CudaHeaders_NVCC CACHE)
endif()
find_program(CudaHeaders_NVCC nvcc)
mark_as_advanced(CudaHeaders_NVCC)
set(CudaHeaders_NVCC_ROOT "")
if(CudaHeaders_NVCC)
  file(REAL_PATH "${CudaHeaders_NVCC}" CudaHeaders_NVCC_ROOT)
  cmake_path(GET CudaHeaders_NVCC_ROOT PARENT_PATH CudaHeaders_NVCC_ROOT)
  cmake_path(GET CudaHeaders_NVCC_ROOT PARENT_PATH CudaHeaders_NVCC_ROOT)
endif()

# Reads CUDA_VERSION (13000 for 13.0) as "13.0".
function(cubinet_cuda_version result header)
  set(${result} "" PARENT_SCOPE)
  file(STRINGS "${header}" line REGEX "^#define CUDA_VERSION [0-9]+" LIMIT_COUNT 1)
  if(line MATCHES "([0-9]+)$")
    math(EXPR major "${CMAKE_MATCH_1} / 1000")
    math(EXPR minor "${CMAKE_MATCH_1} % 1000 / 10")
    set(${result} "${major}.${minor}" PARENT_SCOPE)
  endif()
endfunction()

# Skips an old toolkit, so that it does not hide newer wheels.
function(cubinet_is_usable_cuda_header result candidate)
  cmake_path(GET candidate PARENT_PATH folder)
  cubinet_cuda_version(version "${candidate}")
  if(NOT EXISTS "${folder}/nvrtc.h" OR version VERSION_LESS CudaHeaders_FIND_VERSION)
    set(${result} FALSE PARENT_SCOPE)
  endif()
endfunction()

if(CudaHeaders_CUDA_H)
  set(usable TRUE)
  if(EXISTS "${CudaHeaders_CUDA_H}")
    cubinet_is_usable_cuda_header(usable "${CudaHeaders_CUDA_H}")
  else()
    set(usable FALSE)
  endif()
  if(NOT usable)
    unset(CudaHeaders_CUDA_H CACHE)
  endif()
endif()

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
  VALIDATOR cubinet_is_usable_cuda_header
  NO_DEFAULT_PATH)
mark_as_advanced(CudaHeaders_CUDA_H)

set(CudaHeaders_VERSION "")
set(CudaHeaders_INCLUDE_DIR "")
set(CudaHeaders_PREFIX "")
if(CudaHeaders_CUDA_H)
  cmake_path(GET CudaHeaders_CUDA_H PARENT_PATH CudaHeaders_INCLUDE_DIR)
  cmake_path(GET CudaHeaders_INCLUDE_DIR PARENT_PATH CudaHeaders_PREFIX)
  cubinet_cuda_version(CudaHeaders_VERSION "${CudaHeaders_CUDA_H}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  CudaHeaders
  REQUIRED_VARS CudaHeaders_INCLUDE_DIR
  VERSION_VAR CudaHeaders_VERSION
  REASON_FAILURE_MESSAGE
    "No folder holds cuda.h and nvrtc.h of this version or newer. Install a CUDA toolkit, or run: pip install --target build/cuda-wheels 'nvidia-cuda-nvrtc==13.0.*' 'nvidia-cuda-runtime==13.0.*'"
)

if(CudaHeaders_FOUND AND NOT TARGET cubinet::cuda_headers)
  add_library(cubinet::cuda_headers INTERFACE IMPORTED)
  # The include folders of an imported target are SYSTEM ones, so our warnings do not apply to
  # NVIDIA's headers.
  target_include_directories(cubinet::cuda_headers INTERFACE "${CudaHeaders_INCLUDE_DIR}")
endif()
