// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/reference.hpp>
#include <cubinet/base/file_system.hpp>

#include <cstddef>
#include <filesystem>

namespace cubinet {

// Writes the inputs of a case for a peer into a folder: the files q, k, v (not for latent
// attention) and page_table, with the bytes that kernels read. Replaces existing files of these
// names. Returns io if that fails.
//
// Elements that no query reads are 0 in these files and NaN for our kernels, because a peer may
// multiply them by 0.
Result<void> write_peer_inputs(FileSystem& files, const std::filesystem::path& folder,
                               const AttentionProblem& problem, const AttentionInputs& inputs);

// Returns the output that a peer wrote. Returns invalid_argument if it has another size.
Result<Bytes> read_peer_output(FileSystem& files, const std::filesystem::path& path, std::size_t bytes);

}  // namespace cubinet
