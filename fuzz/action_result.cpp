// SPDX-License-Identifier: Apache-2.0
// What a cache of builds answers: the files of an action. What is read is written so that it is read again.
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
