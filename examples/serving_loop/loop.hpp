// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "scheduler.hpp"

#include <cubinet/base/result.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace serving_loop {

// A model that computes the steps of a scheduler, and keeps K and V in pages.
class Model {
 public:
  virtual ~Model() = default;
  virtual std::size_t row_elements() const = 0;  // of a row of O
  // Computes a step: the token that follows each of its tokens, and its row of O.
  virtual cubinet::Result<void> run(const Step& step, std::span<Token> next,
                                    std::span<std::uint16_t> rows) = 0;
};

// The result of serving all requests.
struct Served {
  std::vector<Transcript> transcripts;  // in the order of the requests
  std::size_t steps = 0;
  std::size_t generation_steps = 0;  // those with kernels for generation
  std::size_t cached_tokens = 0;     // tokens that the prefix cache had
  std::size_t drafted = 0;
  std::size_t accepted = 0;
};

// Serves all requests. They arrive in an order of the settings' seed while others run. Returns an
// error (invalid_argument) if a request exceeds the bounds, or the model's error.
cubinet::Result<Served> serve(Model& model, std::span<const Request> requests, const Bounds& bounds,
                              const Settings& settings, std::span<const std::vector<Token>> guesses);

// The number of requests whose tokens differ between two records, and of rows whose bits differ at
// positions that both have computed from equal tokens.
struct Differences {
  std::size_t requests = 0;
  std::size_t rows = 0;
  std::size_t compared_rows = 0;
};
Differences compare(std::span<const Transcript> first, std::span<const Transcript> second);

}  // namespace serving_loop
