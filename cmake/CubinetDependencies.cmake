# SPDX-License-Identifier: Apache-2.0
# Finds every third-party library. Modules use these names in PRIVATE_LIBRARIES:
#
#   linked        OpenSSL::Crypto  SQLite::SQLite3  xxHash::xxhash  zstd::libzstd  Threads::Threads
#   headers only  fmt::fmt-header-only  nlohmann_json::nlohmann_json  CLI11::CLI11
#                 cubinet::cuda_headers
#   for tests     doctest::doctest
#
# If CUBINET_PORTABLE is set, the linked libraries are static archives.

include_guard(GLOBAL)

if(CUBINET_PORTABLE)
  set(OPENSSL_USE_STATIC_LIBS ON)
  set(xxHash_USE_STATIC_LIBS ON)
  find_library(CUBINET_SQLITE3_ARCHIVE libsqlite3.a REQUIRED)
  mark_as_advanced(CUBINET_SQLITE3_ARCHIVE)
  set(SQLite3_LIBRARY "${CUBINET_SQLITE3_ARCHIVE}" CACHE FILEPATH "SQLite, statically" FORCE)
endif()

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(OpenSSL 3.0 REQUIRED COMPONENTS Crypto)
find_package(SQLite3 3.40 REQUIRED)
find_package(xxHash 0.8 REQUIRED)
find_package(zstd CONFIG REQUIRED)
find_package(fmt CONFIG REQUIRED)
find_package(nlohmann_json CONFIG REQUIRED)
find_package(CudaHeaders 13.0 REQUIRED)
# libcurl is opened at run time, built with any TLS library. Only its headers are needed here.
find_path(CUBINET_CURL_INCLUDE_DIR curl/curl.h REQUIRED)
mark_as_advanced(CUBINET_CURL_INCLUDE_DIR)
add_library(cubinet::curl_headers INTERFACE IMPORTED)
target_include_directories(cubinet::curl_headers INTERFACE "${CUBINET_CURL_INCLUDE_DIR}")
if(CUBINET_BUILD_CLI OR CUBINET_BUILD_BENCHMARKS)
  find_package(CLI11 CONFIG REQUIRED)
endif()
if(CUBINET_BUILD_TESTS)
  find_package(doctest CONFIG REQUIRED)
endif()
if(CUBINET_BUILD_PYTHON)
  find_package(Python 3.10 REQUIRED COMPONENTS Interpreter Development.Module)
  set(CUBINET_PYTHON_PACKAGES ${PROJECT_SOURCE_DIR}/build/python-packages
      CACHE PATH "A folder with nanobind, nanobind-backend and pytest, searched before those of Python itself")
  execute_process(COMMAND ${CMAKE_COMMAND} -E env "PYTHONPATH=${CUBINET_PYTHON_PACKAGES}:$ENV{PYTHONPATH}"
                          ${Python_EXECUTABLE} -m nanobind --cmake_dir
                  OUTPUT_VARIABLE nanobind_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  find_package(nanobind 3.1 CONFIG REQUIRED)
endif()

# Debian's archive of zstd is not position-independent, so a shared library cannot contain it.
set(CUBINET_ZSTD_SOURCE "" CACHE PATH "A folder with zstd.c, all of zstd in one file, and zstd.h: zstd is compiled from it")
if(CUBINET_ZSTD_SOURCE)
  enable_language(C)
  add_library(cubinet_zstd STATIC EXCLUDE_FROM_ALL ${CUBINET_ZSTD_SOURCE}/zstd.c)
  set_target_properties(cubinet_zstd PROPERTIES POSITION_INDEPENDENT_CODE ON C_VISIBILITY_PRESET hidden)
  target_include_directories(cubinet_zstd SYSTEM INTERFACE ${CUBINET_ZSTD_SOURCE})
  add_library(zstd::libzstd INTERFACE IMPORTED)
  target_link_libraries(zstd::libzstd INTERFACE cubinet_zstd)
endif()

# zstd 1.5.6 and later export this name themselves.
if(NOT TARGET zstd::libzstd)
  add_library(zstd::libzstd INTERFACE IMPORTED)
  if(CUBINET_PORTABLE)
    target_link_libraries(zstd::libzstd INTERFACE zstd::libzstd_static)
  else()
    target_link_libraries(zstd::libzstd INTERFACE zstd::libzstd_shared)
  endif()
endif()

if(CUBINET_PORTABLE)
  # The archive needs libm. FindSQLite3 describes the shared library, which loads its own
  # dependencies.
  set_property(TARGET SQLite::SQLite3 APPEND PROPERTY INTERFACE_LINK_LIBRARIES m ${CMAKE_DL_LIBS} Threads::Threads)
endif()

# Never linked into the assembled library.
set(CUBINET_HEADER_ONLY_LIBRARIES fmt::fmt-header-only nlohmann_json::nlohmann_json
                                  CLI11::CLI11 cubinet::cuda_headers cubinet::curl_headers)
