# SPDX-License-Identifier: Apache-2.0
# Assembles libcubinet.so, cubinet::c, which exports the functions of cubinet/cubinet.h alone. It
# contains the archive's modules and the commands.

include_guard(GLOBAL)

get_property(modules GLOBAL PROPERTY CUBINET_MODULES)
get_property(linked_to_c GLOBAL PROPERTY CUBINET_LINKED_LIBRARIES)

# The C library. Its version is that of the header, whose major number is the soname's. Everything
# but the header's functions is local, static copies of third-party code included.
file(STRINGS ${PROJECT_SOURCE_DIR}/c_api/include/cubinet/cubinet.h abi REGEX "define CUBINET_ABI_VERSION")
if(NOT abi MATCHES "0x([0-9a-f][0-9a-f][0-9a-f][0-9a-f])([0-9a-f][0-9a-f][0-9a-f][0-9a-f])")
  message(FATAL_ERROR "cubinet.h does not define CUBINET_ABI_VERSION as 0x…")
endif()
math(EXPR abi_major "0x${CMAKE_MATCH_1}")
math(EXPR abi_minor "0x${CMAKE_MATCH_2}")
set(exports ${PROJECT_SOURCE_DIR}/c_api/cubinet.map)
add_library(cubinet_c SHARED)
add_library(cubinet::c ALIAS cubinet_c)
set_target_properties(cubinet_c PROPERTIES OUTPUT_NAME cubinet EXPORT_NAME c VERSION ${abi_major}.${abi_minor}
                                           SOVERSION ${abi_major} LINKER_LANGUAGE CXX LINK_DEPENDS ${exports})
foreach(module IN LISTS modules)
  target_sources(cubinet_c PRIVATE $<TARGET_OBJECTS:cubinet_${module}>)
endforeach()
target_include_directories(cubinet_c PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/c_api/include>
                                            $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
if(CUBINET_PORTABLE AND NOT CUBINET_ZSTD_SOURCE)
  # Debian's archive of zstd is not position-independent.
  list(TRANSFORM linked_to_c REPLACE "^zstd::libzstd$" "zstd::libzstd_shared")
endif()
target_link_libraries(cubinet_c PRIVATE $<BUILD_INTERFACE:cubinet_settings> ${linked_to_c})
# The thread that links kernels is never joined, so the library must stay loaded after dlclose.
target_link_options(cubinet_c PRIVATE LINKER:--version-script=${exports} LINKER:--no-undefined-version
                    LINKER:-z,nodelete)
