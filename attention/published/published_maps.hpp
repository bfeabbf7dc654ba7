// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "published_launch.hpp"

#include <cubinet/attention/operation.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace cubinet {

// Returns the tokens of K and V that one row of their tensor map holds side by side. It is above 1
// if a single token is too narrow for a copy at full speed: kernels that convert KV to the type of
// Q, below 128 columns.
std::uint32_t kv_reshape(const AttentionProblem& problem, const ArgumentLayout& layout);

// Fills in the tensor maps of a published kernel's argument, in the order of its publisher's
// launcher: Q, K, V, the scales of K's and V's blocks, O. Returns their number.
std::size_t published_maps(const PublishedLaunch& launch, const AttentionTensors& tensors,
                           std::span<PlacedTensorMap, kMaximumTensorMaps> maps);

// Returns the pages of the pool as the kernel's argument: the capacity of the tensor, doubled if K
// and V have separate pools.
std::uint64_t pool_pages(const PublishedLaunch& launch, const AttentionTensors& tensors);

// Return the tokens of all sequences' queries, and of their K and V if these are contiguous (0 for
// pages). Ragged lengths are known only on the device, so the capacity of the tensor is returned
// for them.
std::uint64_t query_tokens(const PublishedLaunch& launch, const DeviceTensor& q);
std::uint64_t kv_tokens(const PublishedLaunch& launch, const DeviceTensor& k);

}  // namespace cubinet
