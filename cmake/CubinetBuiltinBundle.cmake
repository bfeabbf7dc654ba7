# SPDX-License-Identifier: Apache-2.0
# CUBINET_BUILTIN_BUNDLE names the bundle that the library trusts as itself (docs/formats/policy.md,
# place `builtin:`). scripts/builtin_bundle.sh makes it. The library holds the digest at the end of
# its root in CUBINET_BUILTIN_ROOT, and the file is installed for the Python package.

include_guard(GLOBAL)

set(CUBINET_BUILTIN_BUNDLE "" CACHE FILEPATH "Bundle that the library trusts as itself; empty: none")
set(CUBINET_BUILTIN_ROOT "")
if(CUBINET_BUILTIN_BUNDLE)
  cmake_path(ABSOLUTE_PATH CUBINET_BUILTIN_BUNDLE BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE builtin_file)
  if(NOT EXISTS ${builtin_file})
    message(FATAL_ERROR "CUBINET_BUILTIN_BUNDLE: '${builtin_file}' does not exist; make it with scripts/builtin_bundle.sh")
  endif()
  # "CBUN", version, profile, a zero byte, then the size of the root as a little-endian u32
  # (docs/formats/bundle.md). The root ends with its digest.
  file(READ ${builtin_file} head LIMIT 12 HEX)
  if(NOT head MATCHES "^4342554e........(..)(..)(..)(..)$")
    message(FATAL_ERROR "CUBINET_BUILTIN_BUNDLE: '${builtin_file}' is no bundle")
  endif()
  math(EXPR digest_offset "0x${CMAKE_MATCH_4}${CMAKE_MATCH_3}${CMAKE_MATCH_2}${CMAKE_MATCH_1} - 32")
  file(READ ${builtin_file} CUBINET_BUILTIN_ROOT OFFSET ${digest_offset} LIMIT 32 HEX)
  string(LENGTH "${CUBINET_BUILTIN_ROOT}" digits)
  if(NOT digits EQUAL 64)
    message(FATAL_ERROR "CUBINET_BUILTIN_BUNDLE: '${builtin_file}' ends within its root")
  endif()
  set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${builtin_file})
  if(CUBINET_INSTALL OR CUBINET_BUILD_PYTHON)
    install(FILES ${builtin_file} DESTINATION cubinet RENAME builtin.bundle COMPONENT python EXCLUDE_FROM_ALL)
  endif()
endif()
