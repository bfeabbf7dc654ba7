// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/jit/compiler.hpp>

namespace cubinet {

// Compiler::compile_all over any function: compiles 0 … count - 1 on at most `jobs` threads, the caller's
// included.
void run_compile_queue(std::size_t count, unsigned jobs,
                       const std::function<Result<CompileOutput>(std::size_t)>& compile,
                       const std::function<void(std::size_t, Result<CompileOutput>)>& done,
                       const std::function<bool()>& cancelled);

}  // namespace cubinet
