// SPDX-License-Identifier: Apache-2.0
// Reads the inputs of trust: signatures, public and secret keys, key sets, policies.
#include "fuzz.hpp"
#include "policy_file.hpp"

#include <cubinet/trust/key_set.hpp>
#include <cubinet/trust/secret_key.hpp>
#include <cubinet/trust/signature.hpp>

#include <cstdlib>

namespace cubinet::fuzz {

void read(ByteView bytes) {
  const std::string_view text = as_text(bytes);
  const auto signature = parse_signature(text);
  if (signature && !parse_signature(signature->to_file())) std::abort();
  static_cast<void>(PublicKey::parse(text));
  static_cast<void>(SecretKey::parse(text, nullptr));
  static_cast<void>(parse_key_set(text));
  static_cast<void>(parse_policy(text, "policy.json", std::nullopt, "seen"));
}

}  // namespace cubinet::fuzz
