# SPDX-License-Identifier: Apache-2.0
# Precompiles the standard library, JSON and the results of base once for all units of a tree
# instead of about seventy times. A unit then sees them even without including them, like those of
# its folder in a unity build. The dev build has neither by default and detects missing includes.

include_guard(GLOBAL)

function(cubinet_compile_like_precompiled target)
  set_target_properties(${target} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  # Lets ccache recognise a header by its content (scripts/setup.sh), without timestamps.
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

# cubinet_precompile(<target>) makes the target's units begin with those headers. The units must be
# compiled with the same options: for a shared library, with hidden symbols.
function(cubinet_precompile target)
  if(CUBINET_PRECOMPILED_HEADERS)
    cubinet_compile_like_precompiled(${target})
    target_precompile_headers(${target} REUSE_FROM cubinet_precompiled)
  endif()
endfunction()
