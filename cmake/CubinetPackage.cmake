# SPDX-License-Identifier: Apache-2.0
# Configures CPack: `cpack -G DEB` makes the Debian packages cubinet (tool, pages, examples,
# completions, manual page), libcubinet1 (the C library) and libcubinet-dev (archive, headers).

include_guard(GLOBAL)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME cubinet)
set(CPACK_PACKAGE_VENDOR cubinet)
set(CUBINET_PACKAGE_CONTACT "cubinet developers" CACHE STRING "The maintainer of the packages: NAME <ADDRESS>")
set(CPACK_PACKAGE_CONTACT "${CUBINET_PACKAGE_CONTACT}")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_RESOURCE_FILE_README ${PROJECT_SOURCE_DIR}/README.md)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL library development)
if(CUBINET_BUILD_CLI)
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
 The C library libcubinet.so and the C++20 archive libcubinet.a, for CMake and pkg-config.")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libcubinet${abi_major})
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SHLIBDEPS ON)
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION "CUDA kernels by specification: the C library
 Programs in C and other languages find, compile and launch CUDA kernels with it.")
list(JOIN deb_requires ", " CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS)
string(PREPEND CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libcubinet${abi_major} (= ${PROJECT_VERSION}), ")
include(CPack)
