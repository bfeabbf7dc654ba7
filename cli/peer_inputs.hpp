// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/reference.hpp>
#include <cubinet/base/file_system.hpp>

#include <filesystem>

namespace cubinet::cli {

// A case's inputs for a peer, as files of a folder: q, k, v (not of latent attention) and page_table, the
// bytes that kernels read. What no query reads is 0 there, where our own kernels find NaN: a peer may
// multiply it by 0. Replaces files of these names. io where that fails.
Result<void> write_peer_inputs(FileSystem& files, const std::filesystem::path& folder,
                               const AttentionProblem& problem, const AttentionInputs& inputs);

// How far what a peer has written as an output, as the problem has it, is from the reference.
Result<AttentionDeviation> compare_peer_output(FileSystem& files, const std::filesystem::path& path,
                                               const AttentionProblem& problem,
                                               const AttentionOutputs& reference);

}  // namespace cubinet::cli
