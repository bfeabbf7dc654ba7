# SPDX-License-Identifier: Apache-2.0
# The standard library, JSON and the results of base, read once for all units of a tree instead of some seventy
# times. A unit sees them then whether it includes them or not, as it does those of its folder in a unity build: the dev
# build, which has neither by itself, is where a missing include is found.

include_guard(GLOBAL)

function(cubinet_compile_like_precompiled target)
  set_target_properties(${target} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  # ccache takes a header for what it was where its text is the same (scripts/setup.sh), and no time is in it.
  target_compile_options(${target} PRIVATE -fPIC "$<IF:$<CXX_COMPILER_ID:GNU>,-fpch-preprocess,SHELL:-Xclang -fno-pch-timestamp>")
endfunction()

if(CUBINET_PRECOMPILED_HEADERS)
  set(source ${PROJECT_BINARY_DIR}/precompiled.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT "// What CMake compiles a header for.\n")
  add_library(cubinet_precompiled OBJECT ${source})
  cubinet_include_roots(roots base)
  target_include_directories(cubinet_precompiled PRIVATE ${roots})
  target_link_libraries(cubinet_precompiled PRIVATE cubinet_settings nlohmann_json::nlohmann_json)
  cubinet_compile_like_precompiled(cubinet_precompiled)
  target_precompile_headers(
    cubinet_precompiled
    PRIVATE
    <algorithm>
    <array>
    <atomic>
    <charconv>
    <chrono>
    <cmath>
    <condition_variable>
    <cstdint>
    <cstring>
    <filesystem>
    <fstream>
    <functional>
    <map>
    <memory>
    <mutex>
    <optional>
    <random>
    <set>
    <span>
    <sstream>
    <string>
    <string_view>
    <thread>
    <unordered_map>
    <variant>
    <vector>
    <nlohmann/json.hpp>
    <cubinet/base/json_object.hpp>
    <cubinet/base/result.hpp>)
endif()

# cubinet_precompile(<target>): the target's units begin with those headers. They have to be compiled as these were: to be part
# of a shared library, with nothing exported.
function(cubinet_precompile target)
  if(CUBINET_PRECOMPILED_HEADERS)
    cubinet_compile_like_precompiled(${target})
    target_precompile_headers(${target} REUSE_FROM cubinet_precompiled)
  endif()
endfunction()
