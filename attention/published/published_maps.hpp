// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "published_launch.hpp"

#include <cubinet/attention/operation.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace cubinet {

// Tokens of K and V that one row of their tensor map holds side by side, where a single one is too narrow for
// the copy to run at full speed: kernels that convert KV to the type of Q, below 128 columns.
std::uint32_t kv_reshape(const AttentionProblem& problem, const ArgumentLayout& layout);

// The tensor maps of a published kernel's argument, in the order in which its publisher's launcher makes
// them: Q, K, V, the scales of K's and V's blocks, O. How many.
std::size_t published_maps(const PublishedLaunch& launch, const AttentionTensors& tensors,
                           std::span<PlacedTensorMap, kMaximumTensorMaps> maps);

// Pages of the pool as the kernel is told: those that the tensor has room for, counted twice where K and V
// are pools of their own.
std::uint64_t pool_pages(const PublishedLaunch& launch, const AttentionTensors& tensors);

// Tokens of all sequences' queries, and of their K and V where these lie side by side (of pages: 0): of
// ragged lengths, which only the device knows, as many as the tensor has room for.
std::uint64_t query_tokens(const PublishedLaunch& launch, const DeviceTensor& q);
std::uint64_t kv_tokens(const PublishedLaunch& launch, const DeviceTensor& k);

}  // namespace cubinet
