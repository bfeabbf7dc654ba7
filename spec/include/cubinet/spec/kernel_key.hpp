// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>
#include <cubinet/spec/kernel_spec.hpp>
#include <cubinet/spec/sm_target.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace cubinet {

// The canonical encoding of a specification and a target, the identity of a kernel. Little-endian:
//
// clang-format off
//   <encoding>  ::= <magic> <schema> <template> <target> <count> { <parameter> }  ; parameters ascend by name
//   <magic>     ::= "CKEY"
//   <schema>    ::= u16                                                           ; kKeySchemaVersion
//   <template>  ::= <string>
//   <target>    ::= u16 major, u16 minor, u8 kind                                 ; TargetKind
//   <count>     ::= u32
//   <parameter> ::= <string> ( u8 0, u8 flag | u8 1, i64 integer | u8 2, <string> )
//   <string>    ::= u32 length, bytes
// clang-format on
//
// Version history: 1 (2026-11) the first.
// No path, time, compiler or environment is part of it. Golden vectors in tests/spec pin it.
inline constexpr std::uint16_t kKeySchemaVersion = 1;

// XXH3-64 of the canonical encoding: an index, not a proof. Whoever finds something by key compares the
// encoding.
struct KernelKey {
  std::uint64_t value = 0;

  std::string to_string() const;  // 16 lower-case hexadecimal digits
  static Result<KernelKey> parse(std::string_view text);

  friend auto operator<=>(const KernelKey&, const KernelKey&) = default;
};

// The identity of one kernel on one target. Immutable; made by `identify` only, so that both sides of a
// look-up build it through one function.
class KernelIdentity {
 public:
  KernelIdentity() = default;

  KernelKey key() const { return key_; }
  const Bytes& encoding() const { return encoding_; }
  SmTarget target() const { return target_; }  // as the encoding states it

  friend bool operator==(const KernelIdentity& a, const KernelIdentity& b) {
    return a.key_ == b.key_ && a.encoding_ == b.encoding_;
  }

 private:
  friend KernelIdentity identify(const KernelSpec& spec, SmTarget target);
  friend Result<KernelIdentity> identity_from_encoding(Bytes encoding);
  KernelKey key_;
  Bytes encoding_;
  SmTarget target_;
};

// The specification should be complete (KernelTemplate::resolve fills in the defaults): parameters that are
// left out are simply not part of the identity.
KernelIdentity identify(const KernelSpec& spec, SmTarget target);

// The inverse: any bytes give a specification and target whose encoding they are, or corruption (or
// unsupported for a newer schema).
struct DecodedIdentity {
  KernelSpec spec;
  SmTarget target;
};
Result<DecodedIdentity> decode_identity(ByteView encoding);

// For an encoding that was stored: checks that it is canonical and computes its key.
Result<KernelIdentity> identity_from_encoding(Bytes encoding);

}  // namespace cubinet
