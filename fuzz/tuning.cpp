// SPDX-License-Identifier: Apache-2.0
// Reads a tuning table. A wrong digest hides the content before it, so it is read a second time
// with the right digest. Encodes the result and compares it.
#include "fuzz.hpp"

#include <cubinet/kernel_table/tuning_table.hpp>

#include <algorithm>
#include <cstdlib>

namespace cubinet::fuzz {
namespace {

void read_table(ByteView bytes) {
  const auto table = TuningTable::decode(bytes);
  if (table && !std::ranges::equal(table->encode(), bytes)) std::abort();
}

}  // namespace

void read(ByteView bytes) {
  read_table(bytes);
  if (bytes.size() < sizeof(Sha256Digest::bytes)) return;
  Bytes sound(bytes.begin(), bytes.end());
  const std::size_t said = sound.size() - sizeof(Sha256Digest::bytes);
  const Sha256Digest digest = sha256(ByteView(sound).first(said));
  std::copy(digest.bytes.begin(), digest.bytes.end(), sound.begin() + static_cast<std::ptrdiff_t>(said));
  read_table(sound);
}

}  // namespace cubinet::fuzz
