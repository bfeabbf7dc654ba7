# SPDX-License-Identifier: Apache-2.0
# Assembles the archive cubinet::cubinet for C++ programs from the objects of all modules declared
# so far. No internal target is exported, and the order of archives on a link line never matters.

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
