# SPDX-License-Identifier: Apache-2.0
# Each folder is one module and one target. A module sees its own include roots and those of the
# modules that cmake/modules.txt lists for it, but not their dependencies. An include in another
# direction does not compile.
#
# A module has two include roots: include/ is installed, internal/ is for the modules of this tree
# only. Headers of both are included as <cubinet/module/header.hpp>. No header of include/ includes
# one of internal/.

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

# cubinet_include_roots(<variable> <module>...) returns the folders with the headers of the modules.
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
# GCC's flow analysis reports false positives in the inlined standard library: -Wrestrict for
# std::string's operator+ (bug 105651), -Wmaybe-uninitialized for std::variant and std::optional of
# a string (bugs 105562, 80635), -Wstringop-overread for comparisons of vectors (bug 100366),
# -Wstringop-overflow for moves of a std::variant of a structure. Clang's checks and the sanitizers
# stay enabled.
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
  # Pointer checks take half of the compilation time with sanitizers. AddressSanitizer detects
  # accesses through null, and the warning above covers casts that raise the alignment.
  target_compile_options(cubinet_settings INTERFACE -fno-sanitize=null,alignment)
  # Libraries opened at run time are called through our own prototypes, and may return enumerators
  # of later headers. Only Clang has these two checks.
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    target_compile_options(cubinet_settings INTERFACE -fno-sanitize=function,enum)
  endif()
  # There are dozens of executables of 20 to 50 MB. lld takes a quarter of the time of ld.bfd.
  find_program(CUBINET_LLD ld.lld)
  mark_as_advanced(CUBINET_LLD)
  if(CUBINET_LLD)
    target_link_options(cubinet_settings INTERFACE -fuse-ld=lld)
  endif()
endif()
if(CUBINET_SANITIZE MATCHES "address")
  # Checks as calls compile faster than inline code, by a quarter with -O0. Fuzz targets run for
  # hours, so they use inline code.
  set(calls asan-instrumentation-with-call-threshold=0)
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    if(NOT CUBINET_SANITIZE MATCHES "fuzzer")
      target_compile_options(cubinet_settings INTERFACE "SHELL:-mllvm -${calls}")
    endif()
    # GCC defines it; Clang only provides __has_feature.
    target_compile_definitions(cubinet_settings INTERFACE __SANITIZE_ADDRESS__)
  else()
    target_compile_options(cubinet_settings INTERFACE --param=${calls})
  endif()
endif()
if(CUBINET_SANITIZE MATCHES "thread")
  # For the same reason as above.
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    target_compile_definitions(cubinet_settings INTERFACE __SANITIZE_THREAD__)
  endif()
  # ThreadSanitizer's shadow memory conflicts with the mappings of a kernel with strong
  # address-space randomisation.
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
  # The newest glibc that an executable of this build may require: RHEL 9 has 2.34, Ubuntu 22.04
  # 2.35, Debian 12 2.36. package/portable compares it with the file. libgcc stays shared, because a
  # static one of GCC 12 needs 2.35 and every distribution installs it with glibc. Unused sections
  # are removed, because libstdc++'s archive references arc4random (2.36) in a section that we never
  # use.
  set(CUBINET_GLIBC_FLOOR 2.34)
  target_link_options(cubinet_settings INTERFACE -static-libstdc++ -s "LINKER:--gc-sections")
endif()

# cubinet_add_module(<name> SOURCES ... [HEADERS ...] [PRIVATE_LIBRARIES <target>...])
#
# With CUBINET_SMALL only CUBINET_MODULES_OF_CALLS, through which calls of a running server pass,
# are compiled for speed.
#
# SOURCES and HEADERS (of both include roots) are relative to the module's folder. Two SOURCES must
# not share a file-local name, because CMAKE_UNITY_BUILD combines them. The target is an object
# library cubinet_<name>. The installed library is assembled from all of them. PRIVATE_LIBRARIES
# never appear in a public header.
set(CUBINET_MODULES_OF_CALLS api attention base c_api cubin_registry dlpack kernel_table loader spec tvm_ffi)
function(cubinet_add_module name)
  cmake_parse_arguments(arg "" "" "SOURCES;HEADERS;PRIVATE_LIBRARIES" ${ARGN})
  set(target cubinet_${name})
  add_library(${target} OBJECT ${arg_SOURCES})
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  # A program that links the archive does not re-export it. Functions of the C library are exported
  # by their declarations.
  set_target_properties(${target} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  cubinet_include_roots(roots ${name} ${CUBINET_INCLUDES_${name}})
  target_include_directories(${target} PRIVATE ${roots})
  target_link_libraries(${target} PRIVATE cubinet_settings ${arg_PRIVATE_LIBRARIES})
  if(CUBINET_SMALL AND NOT name IN_LIST CUBINET_MODULES_OF_CALLS)
    target_compile_options(${target} PRIVATE -Os)
  endif()
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

# Tests create thousands of temporary homes and folders. They are created in memory if there is a
# folder in memory with 2 GiB of free space from which programs may be started. Docker's has 64 MiB
# and forbids that.
set(CUBINET_TEST_MEMORY "")
if(CUBINET_BUILD_TESTS AND IS_DIRECTORY /dev/shm)
  execute_process(COMMAND df --output=avail --block-size=1G /dev/shm OUTPUT_VARIABLE room ERROR_QUIET)
  file(STRINGS /proc/mounts noexec REGEX " /dev/shm [^ ]+ [^ ]*noexec")
  if(room MATCHES "([0-9]+)" AND CMAKE_MATCH_1 GREATER_EQUAL 2 AND NOT noexec)
    set(CUBINET_TEST_MEMORY TMPDIR=/dev/shm)
  endif()
endif()

# cubinet_add_tests(<module> SOURCES ... [THREADS <source>...] [LABELS <label>...] [USES
# <module>...]
#                   [LIBRARIES <target>...] [ENVIRONMENT <NAME=value>...] [SUFFIX <text>])
#
# Creates one executable test_<module><SUFFIX> and one ctest "<module>/<name>" for each TEST_CASE,
# labelled with all of LABELS (default unit) and with its test suite, if any. The tests see both
# include roots of every module of the assembled library, the module's private headers and those of
# the modules in USES. Modules that are not part of that library are linked by their objects.
#
# THREADS lists the SOURCES whose tests use several threads without NVRTC, which is not
# instrumented, and the sources that these need. Under ThreadSanitizer the executable consists of
# them alone and is labelled threads, because tests with one thread have no races.
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
  # Makes a check a single call without an exception handler, which saves a fifth of a test's
  # compilation time.
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
    # LeakSanitizer reads the bounds of a loaded library's thread-local storage from the preceding
    # bytes, which glibc 2.36 no longer writes, so it may access unmapped addresses.
    # Freed memory is quarantined up to 16 MB instead of 256. With NVRTC, the larger quarantine took
    # half of the kernel's time.
    list(APPEND arg_ENVIRONMENT ASAN_OPTIONS=intercept_tls_get_addr=0:quarantine_size_mb=16)
    list(APPEND arg_ENVIRONMENT
         LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/support/leaks.txt:print_suppressions=0)
  endif()
  if("gpu" IN_LIST arg_LABELS OR "stub" IN_LIST arg_LABELS)
    cubinet_add_to_gpu_check(${target})
  endif()
  if("stub" IN_LIST arg_LABELS)
    add_dependencies(${target} cubinet_stub_driver)
  endif()
  # tests_<label> builds the executables of that label. Tests that need a GPU are only in tests_gpu.
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
  # The output of discovery is stored beside the executable. Until that is linked, its tests are one
  # test that fails.
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

# cubinet_add_to_gpu_check(<target>) adds an executable, of tests or an example, to
# scripts/gpu_check.sh, which runs on a machine with this build folder and without CMake and ctest.
function(cubinet_add_to_gpu_check target)
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_BINARY_DIR BASE_DIRECTORY ${PROJECT_BINARY_DIR} OUTPUT_VARIABLE folder)
  set_property(GLOBAL APPEND_STRING PROPERTY CUBINET_GPU_CHECK "${folder}/${target}\n")
endfunction()
