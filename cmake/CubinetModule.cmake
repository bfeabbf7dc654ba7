# SPDX-License-Identifier: Apache-2.0
# One folder is one module is one target. A module sees its own include root and those of the modules that it
# names in DEPENDS (and, through them, what their public headers need): an include in another direction
# does not compile.

include_guard(GLOBAL)

add_library(cubinet_settings INTERFACE)
target_compile_features(cubinet_settings INTERFACE cxx_std_20)
target_compile_options(
  cubinet_settings
  INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast
            -Wnon-virtual-dtor -Woverloaded-virtual -Wnull-dereference -Wformat=2)
if(CUBINET_WARNINGS_AS_ERRORS)
  target_compile_options(cubinet_settings INTERFACE -Werror)
endif()
if(CUBINET_SANITIZE)
  target_compile_options(cubinet_settings INTERFACE -fsanitize=${CUBINET_SANITIZE} -fno-omit-frame-pointer
                                                   -fno-sanitize-recover=all)
  target_link_options(cubinet_settings INTERFACE -fsanitize=${CUBINET_SANITIZE})
endif()

# cubinet_add_module(<name> SOURCES ... [HEADERS ...] [DEPENDS <module>...] [PRIVATE_LIBRARIES <target>...])
#
# SOURCES and HEADERS are relative to the module's folder. The target is an object library cubinet_<name>; the
# installed library is assembled from all of them. PRIVATE_LIBRARIES never reach a public header.
function(cubinet_add_module name)
  cmake_parse_arguments(arg "" "" "SOURCES;HEADERS;DEPENDS;PRIVATE_LIBRARIES" ${ARGN})
  set(target cubinet_${name})
  add_library(${target} OBJECT ${arg_SOURCES})
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden
                                             VISIBILITY_INLINES_HIDDEN ON)
  target_include_directories(${target} PUBLIC ${CMAKE_CURRENT_SOURCE_DIR}/include)
  target_link_libraries(${target} PRIVATE cubinet_settings ${arg_PRIVATE_LIBRARIES})
  foreach(dependency IN LISTS arg_DEPENDS)
    # Only the include root travels: linking an object library publicly would add its objects twice.
    target_include_directories(
      ${target} PUBLIC $<TARGET_PROPERTY:cubinet_${dependency},INTERFACE_INCLUDE_DIRECTORIES>)
  endforeach()
  foreach(header IN LISTS arg_HEADERS)
    set_property(GLOBAL APPEND PROPERTY CUBINET_PUBLIC_HEADERS "${CMAKE_CURRENT_SOURCE_DIR}/${header}")
  endforeach()
  set_property(GLOBAL APPEND PROPERTY CUBINET_MODULES ${name})
  if(arg_PRIVATE_LIBRARIES)
    set_property(GLOBAL APPEND PROPERTY CUBINET_PRIVATE_LIBRARIES ${arg_PRIVATE_LIBRARIES})
  endif()
endfunction()

# cubinet_add_tests(<module> SOURCES ... [LABELS ...] [USES <module>...] [LIBRARIES ...] [SUFFIX <text>])
#
# One executable a module (and SUFFIX), one ctest a TEST_CASE. The tests see the module's private headers.
# USES names the modules whose objects are linked besides the module itself and all that it depends on.
function(cubinet_add_tests module)
  cmake_parse_arguments(arg "" "SUFFIX" "SOURCES;LABELS;USES;LIBRARIES;ENVIRONMENT" ${ARGN})
  if(NOT CUBINET_BUILD_TESTS)
    return()
  endif()
  set(target test_${module}${arg_SUFFIX})
  add_executable(${target} ${arg_SOURCES} ${PROJECT_SOURCE_DIR}/tests/support/main.cpp)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/${module} ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(${target} PRIVATE cubinet_settings cubinet cubinet_test_support doctest::doctest
                                          ${arg_LIBRARIES})
  foreach(used IN LISTS arg_USES)
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/${used})
  endforeach()
  if(NOT arg_LABELS)
    set(arg_LABELS unit)
  endif()
  doctest_discover_tests(${target} TEST_PREFIX "${module}/" PROPERTIES LABELS "${arg_LABELS}" TIMEOUT 600
                         ENVIRONMENT "${arg_ENVIRONMENT}")
endfunction()
