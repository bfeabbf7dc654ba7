// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/binary_format.hpp>
#include <cubinet/kernel_table/extra_columns.hpp>
#include <cubinet/kernel_table/row_codec.hpp>

#include <xxhash.h>

#include <cstring>

namespace cubinet {
namespace {

// Version 1 was never stored.
constexpr BinaryFormat kRowFormat{
    .name = "a kernel row's encoding", .magic = "CROW", .newest = kRowSchemaVersion, .oldest = 2};
constexpr std::uint64_t kKnownFlags = 0x1ff;

template <class Value>
std::uint64_t at(Value value, unsigned bit) {
  return static_cast<std::uint64_t>(value) << bit;
}

template <class Value>
Value field(std::uint64_t word, unsigned bit, unsigned bits) {
  return static_cast<Value>((word >> bit) & ((std::uint64_t{1} << bits) - 1));
}

std::uint64_t flags_of(const KernelSelector& s) {
  return at(s.dynamic_page, 0) | at(s.groups_tokens_heads_q, 1) | at(s.reuses_smem_k_for_v, 2) |
         at(s.two_cta, 3) | at(s.skips_softmax, 4) | at(s.fp16_softmax, 5) | at(s.spcompress, 6) |
         at(s.fuses_inverse_rope_quant, 7) | at(s.ue8m0_output_scale, 8);
}

void set_flags(KernelSelector& s, std::uint64_t flags) {
  const auto flag = [flags](unsigned bit) { return ((flags >> bit) & 1U) != 0; };
  s.dynamic_page = flag(0);
  s.groups_tokens_heads_q = flag(1);
  s.reuses_smem_k_for_v = flag(2);
  s.two_cta = flag(3);
  s.skips_softmax = flag(4);
  s.fp16_softmax = flag(5);
  s.spcompress = flag(6);
  s.fuses_inverse_rope_quant = flag(7);
  s.ue8m0_output_scale = flag(8);
}

void write_selector(ByteWriter& writer, const KernelSelector& selector) {
  for (const std::uint64_t word : encode_selector(selector))
    writer.u64(word);
}

// Equal identities have equal bytes: what is off is not listed, and the rest has one order.
Result<std::vector<ExtraColumn>> read_canonical_extras(ByteReader& reader) {
  CUBINET_TRY_ASSIGN(std::vector<ExtraColumn> extras, read_extras(reader));
  for (std::size_t i = 0; i < extras.size(); ++i) {
    if (extras[i].is_off()) return kRowFormat.damaged("lists an extra column that is off");
    if (i > 0 && extras[i].name <= extras[i - 1].name) {
      return kRowFormat.damaged("does not list its extra columns in order");
    }
  }
  return extras;
}

// The ranges of a row apply to an identity: the other fields of a row have none that could fail here.
Result<void> check_identity(const RowIdentity& identity) {
  KernelRow row;
  row.selector = identity.selector;
  row.traits = identity.traits;
  row.target = identity.target;
  row.extras = identity.extras;
  row.implementation = identity.implementation;
  return check_ranges(row);
}

}  // namespace

SelectorEncoding encode_selector(const KernelSelector& s) {
  return {
      at(kSelectorSchemaVersion, 0) | at(s.layout, 8) | at(s.mask, 16) | at(s.kernel_type, 24) |
          at(s.scheduler, 32) | at(s.multi_ctas_kv_mode, 40) | at(s.sparse, 48) | at(s.kv_transform, 56),
      at(s.data_type_q, 0) | at(s.data_type_k, 8) | at(s.data_type_v, 16) | at(s.data_type_o, 24) |
          at(flags_of(s), 32) | at(s.tile_size_q, 48),
      at(s.tile_size_kv, 0) | at(s.head_dim_per_cta_v, 16) | at(s.head_dim_qk, 32) | at(s.head_dim_v, 48),
      at(s.sage_block[0], 0) | at(s.sage_block[1], 16) | at(s.sage_block[2], 32) | at(s.sage_block[3], 48),
      at(s.tokens_per_page, 0)};
}

Result<KernelSelector> decode_selector(const SelectorEncoding& words) {
  const auto version = field<std::uint8_t>(words[0], 0, 8);
  if (version > kSelectorSchemaVersion) return kRowFormat.newer(version, kSelectorSchemaVersion);
  if (version != kSelectorSchemaVersion) return kRowFormat.damaged("has no schema version");
  const auto flags = field<std::uint64_t>(words[1], 32, 16);
  if ((flags & ~kKnownFlags) != 0 || words[4] >> 32U != 0)
    return kRowFormat.damaged("sets bits that mean nothing");
  KernelSelector s;
  s.layout = field<QkvLayout>(words[0], 8, 8);
  s.mask = field<AttentionMask>(words[0], 16, 8);
  s.kernel_type = field<KernelType>(words[0], 24, 8);
  s.scheduler = field<TileScheduler>(words[0], 32, 8);
  s.multi_ctas_kv_mode = field<MultiCtasKvMode>(words[0], 40, 8);
  s.sparse = field<SparseAttention>(words[0], 48, 8);
  s.kv_transform = field<KvTransform>(words[0], 56, 8);
  s.data_type_q = field<DataType>(words[1], 0, 8);
  s.data_type_k = field<DataType>(words[1], 8, 8);
  s.data_type_v = field<DataType>(words[1], 16, 8);
  s.data_type_o = field<DataType>(words[1], 24, 8);
  set_flags(s, flags);
  s.tile_size_q = field<std::uint16_t>(words[1], 48, 16);
  s.tile_size_kv = field<std::uint16_t>(words[2], 0, 16);
  s.head_dim_per_cta_v = field<std::uint16_t>(words[2], 16, 16);
  s.head_dim_qk = field<std::uint16_t>(words[2], 32, 16);
  s.head_dim_v = field<std::uint16_t>(words[2], 48, 16);
  for (unsigned i = 0; i < s.sage_block.size(); ++i)
    s.sage_block[i] = field<std::uint16_t>(words[3], 16 * i, 16);
  s.tokens_per_page = field<std::uint32_t>(words[4], 0, 32);
  CUBINET_TRY(check_ranges(s));
  return s;
}

std::uint64_t hash_of(const SelectorEncoding& encoding) {
  return XXH3_64bits(encoding.data(), sizeof(encoding));
}

RowIdentity identity_of(const KernelRow& row) {
  RowIdentity identity{row.selector, row.traits, row.target, {}, row.implementation};
  for (const ExtraColumn& extra : row.extras) {
    if (!extra.is_off()) identity.extras.push_back(extra);
  }
  return identity;
}

Result<Bytes> encode_row_identity(const RowIdentity& identity) {
  CUBINET_TRY(check_identity(identity));
  ByteWriter writer;
  kRowFormat.write_head(writer);
  write_selector(writer, identity.selector);
  writer.u32(identity.traits.step_q);
  writer.u32(identity.traits.step_kv);
  writer.u8(identity.traits.groups_heads_q ? 1 : 0);
  writer.u16(identity.traits.stages);
  writer.u16(identity.target.major);
  writer.u16(identity.target.minor);
  writer.u8(static_cast<std::uint8_t>(identity.target.kind));
  writer.string(identity.implementation);
  for (const ExtraColumn& extra : identity.extras) {
    if (extra.is_off())
      return Error{ErrorCode::invalid_argument, "a row's identity lists no column that is off"};
  }
  write_extras(writer, identity.extras);
  return writer.take();
}

Result<RowIdentity> decode_row_identity(ByteView encoding) {
  ByteReader reader(encoding);
  CUBINET_TRY(kRowFormat.read_head(reader));
  RowIdentity identity;
  SelectorEncoding words{};
  for (std::uint64_t& word : words) {
    CUBINET_TRY_ASSIGN(word, reader.u64());
  }
  CUBINET_TRY_ASSIGN(identity.selector, decode_selector(words));
  CUBINET_TRY_ASSIGN(identity.traits.step_q, reader.u32());
  CUBINET_TRY_ASSIGN(identity.traits.step_kv, reader.u32());
  CUBINET_TRY_ASSIGN(const std::uint8_t groups, reader.u8());
  if (groups > 1) return kRowFormat.damaged("holds a flag that is not 0 or 1");
  identity.traits.groups_heads_q = groups == 1;
  CUBINET_TRY_ASSIGN(identity.traits.stages, reader.u16());
  CUBINET_TRY_ASSIGN(identity.target.major, reader.u16());
  CUBINET_TRY_ASSIGN(identity.target.minor, reader.u16());
  CUBINET_TRY_ASSIGN(const std::uint8_t kind, reader.u8());
  identity.target.kind = static_cast<TargetKind>(kind);
  CUBINET_TRY_ASSIGN(identity.implementation, reader.string());
  CUBINET_TRY_ASSIGN(identity.extras, read_canonical_extras(reader));
  if (reader.remaining() != 0) return kRowFormat.damaged("has bytes after its end");
  CUBINET_TRY(check_identity(identity));
  return identity;
}

KernelKey key_of(ByteView row_identity_encoding) {
  return KernelKey{XXH3_64bits(row_identity_encoding.data(), row_identity_encoding.size())};
}

}  // namespace cubinet
