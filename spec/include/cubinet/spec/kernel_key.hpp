// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>
#include <cubinet/spec/kernel_spec.hpp>
#include <cubinet/spec/sm_target.hpp>

#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace cubinet {

// The canonical encoding of a kernel, and of a kernel on a target. Little-endian:
//
// clang-format off
//   <identity>  ::= <kernel> <target>
//   <kernel>    ::= "CKEY" u16 kKeySchemaVersion, u8 maker, <string> name,
//                   u32 count { <parameter> },
//                   u32 count { <string> option, <string> value }     ; ascending by option
//   <parameter> ::= <string> <value>                                  ; ascending by name
//   <value>     ::= u8 0, u8 flag | u8 1, i64 integer | u8 2, <string>
//                 | u8 3, u32 float | u8 4, u64 double
//                 | u8 5, u8 type, u32 count { i64 | u32 | u64 }      ; a list; type: 1, 3 or 4
//   <target>    ::= u16 major, u16 minor, u8 kind                     ; TargetKind
//   <string>    ::= u32 length, bytes
// clang-format on
//
// Floats and doubles are stored as the bits of finite numbers, never of -0. The second list holds
// the request's compiler options (compiler_options.hpp). The target comes last, so that a kernel's
// encoding is a prefix of each of its identities.
//
// Version history: 2 (2026-11) makers, options; 1 was never released. No path, time, compiler or
// environment is part of the encoding. Golden vectors in tests/spec pin it.
inline constexpr std::uint16_t kKeySchemaVersion = 2;

// The XXH3-64 hash of a kernel's identity. It is an index, not a proof: code that finds an entry by
// key must also compare the encoding.
struct KernelKey {
  std::uint64_t value = 0;

  std::string to_string() const;  // 16 lower-case hexadecimal digits
  static Result<KernelKey> parse(std::string_view text);

  friend auto operator<=>(const KernelKey&, const KernelKey&) = default;
};

struct ParameterView;  // spec/parameter_view.hpp, private

// The identity of a kernel without its target. Immutable. Only `identify` makes it, so that both
// sides of a look-up use one function.
class KernelId {
 public:
  KernelId() = default;

  const Bytes& encoding() const { return encoding_; }
  std::uint64_t hash() const { return hash_; }  // XXH3-64 of the encoding
  KernelMaker maker() const;                    // decoded from the encoding

  friend bool operator==(const KernelId& a, const KernelId& b) {
    return a.hash_ == b.hash_ && a.encoding_ == b.encoding_;
  }

 private:
  friend class KernelIdentity;
  friend KernelId identify(const KernelSpec& spec);
  friend KernelId identify(KernelMaker maker, std::string_view name,
                           std::span<const ParameterView> parameters);
  explicit KernelId(Bytes encoding);

  Bytes encoding_;
  std::uint64_t hash_ = 0;
};

// The identity of a kernel on one target. Immutable. Only `identify` and `identity_from_encoding`
// make it.
class KernelIdentity {
 public:
  KernelIdentity() = default;

  KernelKey key() const { return key_; }
  const Bytes& encoding() const { return encoding_; }
  SmTarget target() const { return target_; }  // decoded from the encoding
  KernelId kernel() const;
  ByteView kernel_encoding() const;  // a prefix of encoding()
  std::uint64_t kernel_hash() const { return kernel_hash_; }
  bool is_of(const KernelId& kernel) const;

  friend bool operator==(const KernelIdentity& a, const KernelIdentity& b) {
    return a.key_ == b.key_ && a.encoding_ == b.encoding_;
  }

 private:
  friend KernelIdentity identify(const KernelSpec& spec, SmTarget target);
  friend KernelIdentity identify(KernelMaker maker, std::string_view name,
                                 std::span<const ParameterView> parameters, SmTarget target);
  friend Result<KernelIdentity> identity_from_encoding(Bytes encoding);
  KernelIdentity(Bytes encoding, SmTarget target);

  KernelKey key_;
  std::uint64_t kernel_hash_ = 0;
  Bytes encoding_;
  SmTarget target_;
};

// Return the identity of a specification. It should be complete (KernelTemplate::resolve fills in
// the defaults), because omitted parameters are not part of the identity.
KernelId identify(const KernelSpec& spec);
KernelIdentity identify(const KernelSpec& spec, SmTarget target);

// Decodes KernelId::encoding() or KernelIdentity::kernel_encoding(). Any bytes give what they
// encode, or corruption (or unsupported for a newer schema).
Result<KernelSpec> decode_kernel(ByteView encoding);
// Decodes KernelIdentity::encoding(), with the same errors. Checks that it is canonical and
// computes its key.
Result<KernelIdentity> identity_from_encoding(Bytes encoding);

}  // namespace cubinet
