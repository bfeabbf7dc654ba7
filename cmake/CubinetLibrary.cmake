# SPDX-License-Identifier: Apache-2.0
# Assembles the installed libraries from the objects of all modules declared so far: the archive
# cubinet::cubinet for C++ programs, and libcubinet.so, cubinet::c, which exports the functions of
# cubinet/cubinet.h alone. No internal target is exported, and the order of archives on a link line
# never matters.

include_guard(GLOBAL)

get_property(modules GLOBAL PROPERTY CUBINET_MODULES)
get_property(linked GLOBAL PROPERTY CUBINET_PRIVATE_LIBRARIES)
list(REMOVE_DUPLICATES linked)
list(REMOVE_ITEM linked ${CUBINET_HEADER_ONLY_LIBRARIES})
set_property(GLOBAL PROPERTY CUBINET_LIBRARY_MODULES "${modules}")
set_property(GLOBAL PROPERTY CUBINET_LINKED_LIBRARIES "${linked}")

add_library(cubinet STATIC)
add_library(cubinet::cubinet ALIAS cubinet)
set_target_properties(cubinet PROPERTIES LINKER_LANGUAGE CXX)
target_compile_features(cubinet PUBLIC cxx_std_20)
target_include_directories(cubinet PUBLIC $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
foreach(module IN LISTS modules)
  target_sources(cubinet PRIVATE $<TARGET_OBJECTS:cubinet_${module}>)
  get_target_property(module_dir cubinet_${module} SOURCE_DIR)
  target_include_directories(cubinet PUBLIC $<BUILD_INTERFACE:${module_dir}/include>)
endforeach()
target_link_libraries(cubinet PRIVATE $<BUILD_INTERFACE:cubinet_settings> ${linked})

# The internal headers for tests and benchmarks.
add_library(cubinet_internal INTERFACE)
cubinet_include_roots(roots ${modules})
target_include_directories(cubinet_internal INTERFACE ${roots})

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
set(linked_to_c ${linked})
if(CUBINET_PORTABLE AND NOT CUBINET_ZSTD_SOURCE)
  # Debian's archive of zstd is not position-independent.
  list(TRANSFORM linked_to_c REPLACE "^zstd::libzstd$" "zstd::libzstd_shared")
endif()
target_link_libraries(cubinet_c PRIVATE $<BUILD_INTERFACE:cubinet_settings> ${linked_to_c})
# The thread that links kernels is never joined, so the library must stay loaded after dlclose.
target_link_options(cubinet_c PRIVATE LINKER:--version-script=${exports} LINKER:--no-undefined-version
                    LINKER:-z,nodelete)
