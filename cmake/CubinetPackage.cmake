# SPDX-License-Identifier: Apache-2.0
# Configures CPack: `cpack -G DEB` makes the Debian packages cubinet (tool, pages, examples,
# completions, manual page) and libcubinet-dev (library, headers).

include_guard(GLOBAL)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME cubinet)
set(CPACK_PACKAGE_VENDOR cubinet)
set(CUBINET_PACKAGE_CONTACT "cubinet developers" CACHE STRING "The maintainer of the packages: NAME <ADDRESS>")
set(CPACK_PACKAGE_CONTACT "${CUBINET_PACKAGE_CONTACT}")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_RESOURCE_FILE_README ${PROJECT_SOURCE_DIR}/README.md)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL development)
if(CUBINET_BUILD_CLI OR BUILD_SHARED_LIBS)
  list(PREPEND CPACK_COMPONENTS_ALL tool)
endif()

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_TOOL_PACKAGE_NAME cubinet)
set(CPACK_DEBIAN_TOOL_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_TOOL_PACKAGE_SHLIBDEPS ON)
# The tool opens libcurl when it contacts a server.
set(CPACK_DEBIAN_TOOL_PACKAGE_RECOMMENDS "libcurl4, ca-certificates")
set(CPACK_COMPONENT_TOOL_DESCRIPTION "CUDA kernels by specification: the command-line tool
 cubinet finds, verifies, compiles, bundles and launches CUDA kernels. It opens the CUDA driver and
 NVRTC at run time; neither is part of the package.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libcubinet-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "CUDA kernels by specification: library and headers
 The C++20 library cubinet::cubinet, for CMake and pkg-config.")
if(BUILD_SHARED_LIBS)
  set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "cubinet (= ${PROJECT_VERSION})")
else()
  list(JOIN deb_requires ", " CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS)
endif()
include(CPack)
