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
            -Wnon-virtual-dtor -Woverloaded-virtual -Wformat=2)
# GCC's flow analysis is wrong about the standard library once it is inlined: -Wrestrict about std::string's own
# operator+ (bug 105651), -Wmaybe-uninitialized about std::variant and std::optional of a string (bugs 105562, 80635),
# -Wstringop-overread about comparing vectors (bug 100366). Clang's checks stay, and so do the sanitizers.
target_compile_options(
  cubinet_settings
  INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict -Wno-maybe-uninitialized -Wno-stringop-overread>)
if(CUBINET_WARNINGS_AS_ERRORS)
  target_compile_options(cubinet_settings INTERFACE -Werror)
endif()
if(CUBINET_SANITIZE)
  target_compile_options(cubinet_settings INTERFACE -fsanitize=${CUBINET_SANITIZE} -fno-omit-frame-pointer
                                                   -fno-sanitize-recover=all)
  target_link_options(cubinet_settings INTERFACE -fsanitize=${CUBINET_SANITIZE})
endif()
if(CUBINET_SANITIZE MATCHES "thread")
  # ThreadSanitizer's shadow memory collides with what a kernel with much address-space randomisation maps.
  find_program(CUBINET_SETARCH setarch)
  mark_as_advanced(CUBINET_SETARCH)
  if(CUBINET_SETARCH)
    execute_process(COMMAND ${CUBINET_SETARCH} ${CMAKE_HOST_SYSTEM_PROCESSOR} -R true RESULT_VARIABLE refused
                    ERROR_QUIET)
    if(NOT refused)
      set(CUBINET_TEST_LAUNCHER ${CUBINET_SETARCH} ${CMAKE_HOST_SYSTEM_PROCESSOR} -R)
    endif()
  endif()
endif()

if(CUBINET_PORTABLE)
  # The glibc that an executable of this build needs at most: RHEL 9 has 2.34, Ubuntu 22.04 2.35, Debian 12 2.36.
  # package/portable compares it with the file. libgcc stays shared, for a static one of GCC 12 needs 2.35 and every
  # distribution's glibc comes with it. Unused sections go, because the archive of libstdc++ names arc4random (2.36) in
  # one that nothing of ours reaches.
  set(CUBINET_GLIBC_FLOOR 2.34)
  target_link_options(cubinet_settings INTERFACE -static-libstdc++ -s "LINKER:--gc-sections")
endif()

# cubinet_add_module(<name> SOURCES ... [ALONE <source>...] [HEADERS ...] [DEPENDS <module>...]
#                    [PRIVATE_LIBRARIES <target>...])
#
# SOURCES and HEADERS are relative to the module's folder. ALONE names those SOURCES that share a file-local name with a
# neighbour: where CMAKE_UNITY_BUILD puts several sources into one unit, they stay by themselves. The target is an object
# library cubinet_<name>; the installed library is assembled from all of them. PRIVATE_LIBRARIES never reach a public
# header.
function(cubinet_add_module name)
  cmake_parse_arguments(arg "" "" "SOURCES;ALONE;HEADERS;DEPENDS;PRIVATE_LIBRARIES" ${ARGN})
  set(target cubinet_${name})
  add_library(${target} OBJECT ${arg_SOURCES})
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  set_source_files_properties(${arg_ALONE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  if(NOT BUILD_SHARED_LIBS)
    # A program that links the static library does not re-export it. The shared one is narrowed by its version
    # script instead (cmake/cubinet.map).
    set_target_properties(${target} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  endif()
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

# cubinet_add_tests(<module> SOURCES ... [ALONE <source>...] [LABELS <label>...] [USES <module>...]
#                   [LIBRARIES <target>...] [ENVIRONMENT <NAME=value>...] [SUFFIX <text>])
#
# One executable test_<module><SUFFIX>, one ctest "<module>/<name>" a TEST_CASE, labelled with all of LABELS (unit
# when there are none). The tests see the module's private headers and those of the modules in USES; modules
# that are not part of the assembled library are linked by their objects.
function(cubinet_add_tests module)
  cmake_parse_arguments(arg "" "SUFFIX" "SOURCES;ALONE;LABELS;USES;LIBRARIES;ENVIRONMENT" ${ARGN})
  if(NOT CUBINET_BUILD_TESTS)
    return()
  endif()
  set(target test_${module}${arg_SUFFIX})
  add_executable(${target} ${arg_SOURCES})
  set_source_files_properties(${arg_ALONE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(${target} PRIVATE cubinet_settings cubinet cubinet_test_main cubinet_test_support
                                          doctest::doctest ${arg_LIBRARIES})
  get_property(assembled GLOBAL PROPERTY CUBINET_LIBRARY_MODULES)
  foreach(used IN LISTS module arg_USES)
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/${used})
    if(TARGET cubinet_${used} AND NOT used IN_LIST assembled)
      target_link_libraries(${target} PRIVATE cubinet_${used})
    endif()
  endforeach()
  if(NOT arg_LABELS)
    set(arg_LABELS unit)
  endif()
  if(CUBINET_SANITIZE MATCHES "address")
    # LeakSanitizer reads the bounds of a loaded library's thread-local storage from the bytes before it, where glibc
    # 2.36 no longer writes any: what stands there by chance sends it to addresses that are not mapped.
    list(APPEND arg_ENVIRONMENT ASAN_OPTIONS=intercept_tls_get_addr=0)
  endif()
  if("gpu" IN_LIST arg_LABELS OR "stub" IN_LIST arg_LABELS)
    cubinet_add_to_gpu_check(${target})
  endif()
  if("stub" IN_LIST arg_LABELS)
    add_dependencies(${target} cubinet_stub_driver)
  endif()
  # tests_<label>: what a run of that label needs. Tests that want a GPU are in tests_gpu alone.
  set(groups ${arg_LABELS})
  if("gpu" IN_LIST groups)
    set(groups gpu)
  endif()
  foreach(group IN LISTS groups)
    if(NOT TARGET tests_${group})
      add_custom_target(tests_${group})
    endif()
    add_dependencies(tests_${group} ${target})
  endforeach()
  if(CUBINET_TEST_LAUNCHER)
    set_target_properties(${target} PROPERTIES CROSSCOMPILING_EMULATOR "${CUBINET_TEST_LAUNCHER}")
  endif()
  doctest_discover_tests(${target} TEST_PREFIX "${module}${arg_SUFFIX}/")
  # doctest's script flattens lists, so properties that are lists are set by a script of our own, which runs
  # after it. An executable in which no test was found is a failing test.
  set(script ${CMAKE_CURRENT_BINARY_DIR}/${target}_properties.cmake)
  # Generated, so that an environment may hold generator expressions.
  file(
    GENERATE
    OUTPUT ${script}
    CONTENT
      "if(${target}_TESTS)
  set_tests_properties(\${${target}_TESTS} PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77 LABELS [==[${arg_LABELS}]==]
                       ENVIRONMENT [==[${arg_ENVIRONMENT}]==])
elseif(EXISTS [==[$<TARGET_FILE:${target}>]==])
  add_test(${target}_holds_no_test ${target}_holds_no_test)
endif()
")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${script})
endfunction()

# cubinet_add_to_gpu_check(<target>): names an executable, of tests or an example, that scripts/gpu_check.sh runs, on a
# machine that has this build folder and neither CMake nor ctest.
function(cubinet_add_to_gpu_check target)
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_BINARY_DIR BASE_DIRECTORY ${PROJECT_BINARY_DIR} OUTPUT_VARIABLE folder)
  set_property(GLOBAL APPEND_STRING PROPERTY CUBINET_GPU_CHECK "${folder}/${target}\n")
endfunction()
