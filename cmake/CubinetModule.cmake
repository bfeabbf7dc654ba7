# SPDX-License-Identifier: Apache-2.0
# One folder is one module is one target. A module sees its own include roots and those of the modules that
# cmake/modules.txt names for it, and nothing that these see: an include in another direction does not compile.
#
# A module has two include roots: include/ is installed, internal/ is for the modules of this tree alone. Headers of
# both are included as <cubinet/module/header.hpp>, and none of include/ includes one of internal/.

include_guard(GLOBAL)

set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/modules.txt)
file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/modules.txt lines REGEX "^[a-z]" ENCODING UTF-8)
set(CUBINET_ALL_MODULES "")
foreach(line IN LISTS lines)
  string(REGEX REPLACE "^([a-z_]+) \\| ([a-z_ ]*)\\|.*" "\\1;\\2" words "${line}")
  list(POP_FRONT words module)
  string(REGEX MATCHALL "[a-z_]+" CUBINET_INCLUDES_${module} "${words}")
  list(APPEND CUBINET_ALL_MODULES ${module})
endforeach()

# cubinet_include_roots(<variable> <module>...): the folders under which the headers of the modules lie.
function(cubinet_include_roots variable)
  set(roots "")
  foreach(module IN LISTS ARGN)
    list(APPEND roots ${PROJECT_SOURCE_DIR}/${module}/include ${PROJECT_SOURCE_DIR}/${module}/internal)
  endforeach()
  set(${variable} ${roots} PARENT_SCOPE)
endfunction()

add_library(cubinet_settings INTERFACE)
target_compile_features(cubinet_settings INTERFACE cxx_std_20)
target_compile_options(
  cubinet_settings
  INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast
            -Wnon-virtual-dtor -Woverloaded-virtual -Wformat=2
            $<IF:$<CXX_COMPILER_ID:GNU>,-Wcast-align=strict,-Wcast-align>)
# GCC's flow analysis is wrong about the standard library once it is inlined: -Wrestrict about std::string's own
# operator+ (bug 105651), -Wmaybe-uninitialized about std::variant and std::optional of a string (bugs 105562, 80635),
# -Wstringop-overread about comparing vectors (bug 100366), -Wstringop-overflow about moving a std::variant of a structure.
# Clang's checks stay, and so do the sanitizers.
target_compile_options(
  cubinet_settings
  INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict -Wno-maybe-uninitialized -Wno-stringop-overread
                                           -Wno-stringop-overflow>)
if(CUBINET_WARNINGS_AS_ERRORS)
  target_compile_options(cubinet_settings INTERFACE -Werror)
endif()
if(CUBINET_SANITIZE)
  target_compile_options(cubinet_settings INTERFACE -fsanitize=${CUBINET_SANITIZE} -fno-omit-frame-pointer
                                                   -fno-sanitize-recover=all)
  target_link_options(cubinet_settings INTERFACE -fsanitize=${CUBINET_SANITIZE})
  # The checks of every pointer that is followed are half of what the sanitizers take to compile. AddressSanitizer stops at
  # an access through null, and a cast that raises the alignment is the warning above.
  target_compile_options(cubinet_settings INTERFACE -fno-sanitize=null,alignment)
  # Libraries that are opened at run time are called by prototypes of ours, and answer with numbers that their headers of
  # tomorrow name: both are checks of Clang's alone.
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    target_compile_options(cubinet_settings INTERFACE -fno-sanitize=function,enum)
  endif()
  # Dozens of executables of 20 to 50 MB: a quarter of the time of ld.bfd.
  find_program(CUBINET_LLD ld.lld)
  mark_as_advanced(CUBINET_LLD)
  if(CUBINET_LLD)
    target_link_options(cubinet_settings INTERFACE -fuse-ld=lld)
  endif()
endif()
if(CUBINET_SANITIZE MATCHES "address")
  # A check is a call: less to compile than code in line, with -O0 by a quarter. Fuzz targets run for hours.
  set(calls asan-instrumentation-with-call-threshold=0)
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    if(NOT CUBINET_SANITIZE MATCHES "fuzzer")
      target_compile_options(cubinet_settings INTERFACE "SHELL:-mllvm -${calls}")
    endif()
    # GCC defines it; Clang says it by __has_feature alone.
    target_compile_definitions(cubinet_settings INTERFACE __SANITIZE_ADDRESS__)
  else()
    target_compile_options(cubinet_settings INTERFACE --param=${calls})
  endif()
endif()
if(CUBINET_SANITIZE MATCHES "thread")
  # As above.
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    target_compile_definitions(cubinet_settings INTERFACE __SANITIZE_THREAD__)
  endif()
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

# cubinet_add_module(<name> SOURCES ... [HEADERS ...] [PRIVATE_LIBRARIES <target>...])
#
# SOURCES and HEADERS, which are those of both include roots, are relative to the module's folder. No two SOURCES share a
# file-local name, because CMAKE_UNITY_BUILD makes one unit of them. The target is an object library cubinet_<name>; the
# installed library is assembled from all of them. PRIVATE_LIBRARIES never reach a public header.
function(cubinet_add_module name)
  cmake_parse_arguments(arg "" "" "SOURCES;HEADERS;PRIVATE_LIBRARIES" ${ARGN})
  set(target cubinet_${name})
  add_library(${target} OBJECT ${arg_SOURCES})
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  if(NOT BUILD_SHARED_LIBS)
    # A program that links the static library does not re-export it. The shared one is narrowed by its version
    # script instead (cmake/cubinet.map).
    set_target_properties(${target} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  endif()
  cubinet_include_roots(roots ${name} ${CUBINET_INCLUDES_${name}})
  target_include_directories(${target} PRIVATE ${roots})
  target_link_libraries(${target} PRIVATE cubinet_settings ${arg_PRIVATE_LIBRARIES})
  cubinet_precompile(${target})
  set_property(GLOBAL PROPERTY CUBINET_HEADERS_${name} "${arg_HEADERS}")
  list(FILTER arg_HEADERS INCLUDE REGEX "^include/")
  list(TRANSFORM arg_HEADERS PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/")
  set_property(GLOBAL APPEND PROPERTY CUBINET_PUBLIC_HEADERS ${arg_HEADERS})
  set_property(GLOBAL APPEND PROPERTY CUBINET_MODULES ${name})
  if(arg_PRIVATE_LIBRARIES)
    set_property(GLOBAL APPEND PROPERTY CUBINET_PRIVATE_LIBRARIES ${arg_PRIVATE_LIBRARIES})
  endif()
endfunction()

# Thousands of homes and folders are made and thrown away: in memory, where there is a folder of it with 2 GiB to spare that
# programs may be started from. That of docker has 64 MiB, and they may not.
set(CUBINET_TEST_MEMORY "")
if(CUBINET_BUILD_TESTS AND IS_DIRECTORY /dev/shm)
  execute_process(COMMAND df --output=avail --block-size=1G /dev/shm OUTPUT_VARIABLE room ERROR_QUIET)
  file(STRINGS /proc/mounts noexec REGEX " /dev/shm [^ ]+ [^ ]*noexec")
  if(room MATCHES "([0-9]+)" AND CMAKE_MATCH_1 GREATER_EQUAL 2 AND NOT noexec)
    set(CUBINET_TEST_MEMORY TMPDIR=/dev/shm)
  endif()
endif()

# cubinet_add_tests(<module> SOURCES ... [THREADS <source>...] [LABELS <label>...] [USES <module>...]
#                   [LIBRARIES <target>...] [ENVIRONMENT <NAME=value>...] [SUFFIX <text>])
#
# One executable test_<module><SUFFIX>, one ctest "<module>/<name>" a TEST_CASE, labelled with all of LABELS (unit
# when there are none) and its test suite, if it has one. The tests see both include roots of every module of the assembled library, the module's private
# headers and those of the modules in USES; modules that are not part of that library are linked by their objects.
#
# THREADS are those of SOURCES in whose tests several threads are at work, none of them NVRTC's, which is not
# instrumented, and what these need. Under ThreadSanitizer the executable is made of them alone and labelled threads: of
# one thread it has nothing to say.
function(cubinet_add_tests module)
  cmake_parse_arguments(arg "" "SUFFIX" "SOURCES;THREADS;LABELS;USES;LIBRARIES;ENVIRONMENT" ${ARGN})
  if(NOT CUBINET_BUILD_TESTS)
    return()
  endif()
  if(NOT arg_LABELS)
    set(arg_LABELS unit)
  endif()
  if(CUBINET_SANITIZE MATCHES "thread" AND arg_THREADS)
    set(arg_SOURCES ${arg_THREADS})
    list(APPEND arg_LABELS threads)
  endif()
  set(target test_${module}${arg_SUFFIX})
  add_executable(${target} ${arg_SOURCES})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(${target} PRIVATE cubinet_settings cubinet cubinet_internal cubinet_test_main cubinet_test_support
                                          doctest::doctest ${arg_LIBRARIES})
  # A check is one call, without a handler of exceptions around it: a fifth of what a test takes to compile.
  target_compile_definitions(${target} PRIVATE DOCTEST_CONFIG_SUPER_FAST_ASSERTS)
  cubinet_precompile(${target})
  # Its loops are long, unlike those of other tests (tests/CMakeLists.txt).
  if("property" IN_LIST arg_LABELS)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O2>)
  endif()
  get_property(assembled GLOBAL PROPERTY CUBINET_LIBRARY_MODULES)
  foreach(used IN LISTS module arg_USES)
    cubinet_include_roots(roots ${used})
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/${used} ${roots})
    if(TARGET cubinet_${used} AND NOT used IN_LIST assembled)
      target_link_libraries(${target} PRIVATE cubinet_${used})
    endif()
  endforeach()
  list(APPEND arg_ENVIRONMENT ${CUBINET_TEST_MEMORY})
  if(CUBINET_SANITIZE MATCHES "address")
    # LeakSanitizer reads the bounds of a loaded library's thread-local storage from the bytes before it, where glibc
    # 2.36 no longer writes any: what stands there by chance sends it to addresses that are not mapped.
    # Freed memory is kept from being used again until 16 MB of it are there, not 256: of what NVRTC frees that was half of the
    # kernel's time.
    list(APPEND arg_ENVIRONMENT ASAN_OPTIONS=intercept_tls_get_addr=0:quarantine_size_mb=16)
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
  # What discovery writes lies beside the executable; before that is linked, its tests are one that fails.
  set(prefix ${CMAKE_CURRENT_BINARY_DIR}/${target})
  file(WRITE ${prefix}_settings.cmake.in "set(labels [==[${arg_LABELS}]==])\nset(environment [==[${arg_ENVIRONMENT}]==])\n")
  file(GENERATE OUTPUT ${prefix}_settings.cmake INPUT ${prefix}_settings.cmake.in)
  add_custom_command(
    TARGET ${target}
    POST_BUILD
    BYPRODUCTS ${prefix}_tests.cmake
    COMMAND
      ${CMAKE_COMMAND} -DEXECUTABLE=$<TARGET_FILE:${target}> "-DLAUNCHER=${CUBINET_TEST_LAUNCHER}"
      -DPREFIX=${module}${arg_SUFFIX}/ -DSETTINGS=${prefix}_settings.cmake -DOUTPUT=${prefix}_tests.cmake -P
      ${PROJECT_SOURCE_DIR}/cmake/DiscoverTests.cmake
    VERBATIM)
  file(
    WRITE ${prefix}_include.cmake
    "if(EXISTS [==[${prefix}_tests.cmake]==])
  include([==[${prefix}_tests.cmake]==])
else()
  add_test(${target}_is_not_built ${target}_is_not_built)
endif()
")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${prefix}_include.cmake)
endfunction()

# cubinet_add_to_gpu_check(<target>): names an executable, of tests or an example, that scripts/gpu_check.sh runs, on a
# machine that has this build folder and neither CMake nor ctest.
function(cubinet_add_to_gpu_check target)
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_BINARY_DIR BASE_DIRECTORY ${PROJECT_BINARY_DIR} OUTPUT_VARIABLE folder)
  set_property(GLOBAL APPEND_STRING PROPERTY CUBINET_GPU_CHECK "${folder}/${target}\n")
endfunction()
