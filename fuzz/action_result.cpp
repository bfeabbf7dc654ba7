// SPDX-License-Identifier: Apache-2.0
// Reads the answer of a build cache: the files of an action. Encodes the result and reads it again.
#include "fuzz.hpp"

#include <cubinet/distribution/action_result.hpp>

#include <cstdlib>

namespace cubinet::fuzz {

void read(ByteView bytes) {
  const auto result = parse_action_result(bytes);
  if (!result) return;
  const auto again = parse_action_result(encode_action_result(*result));
  if (!again || again->files.size() != result->files.size()) std::abort();
  for (const ActionResult::File& file : result->files)
    static_cast<void>(again->find(file.path));
}

}  // namespace cubinet::fuzz
