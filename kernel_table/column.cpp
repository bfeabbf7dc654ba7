// SPDX-License-Identifier: Apache-2.0
#include <cubinet/kernel_table/column.hpp>

#include <array>
#include <charconv>
#include <limits>

namespace cubinet {
namespace {

// A member of a member: column<&KernelRow::selector, &KernelSelector::mask>.
template <auto outer, auto inner>
struct Member {
  using Value = std::remove_reference_t<decltype((std::declval<KernelRow&>().*outer).*inner)>;
  static std::int64_t get(const KernelRow& row) { return static_cast<std::int64_t>((row.*outer).*inner); }
  static void set(KernelRow& row, std::int64_t value) { (row.*outer).*inner = static_cast<Value>(value); }
};

template <auto member>
struct Own {
  using Value = std::remove_reference_t<decltype(std::declval<KernelRow&>().*member)>;
  static std::int64_t get(const KernelRow& row) { return static_cast<std::int64_t>(row.*member); }
  static void set(KernelRow& row, std::int64_t value) { row.*member = static_cast<Value>(value); }
};

template <std::size_t index>
struct Sage {
  static std::int64_t get(const KernelRow& row) { return row.selector.sage_block[index]; }
  static void set(KernelRow& row, std::int64_t value) {
    row.selector.sage_block[index] = static_cast<std::uint16_t>(value);
  }
};

template <auto inner>
using Asked = Member<&KernelRow::selector, inner>;
template <auto inner>
using Trait = Member<&KernelRow::traits, inner>;

constexpr std::int64_t kU16 = std::numeric_limits<std::uint16_t>::max();
constexpr std::int64_t kU32 = std::numeric_limits<std::uint32_t>::max();

template <class Access>
std::string_view word_of(std::int64_t value) {
  return to_string(static_cast<typename Access::Value>(static_cast<std::uint8_t>(value)));
}

template <class Access>
constexpr Column column(std::string_view name, std::string_view header_name, ColumnKind kind, bool asked_for,
                        std::int64_t default_value, std::int64_t maximum, bool identifies = true) {
  return {name, header_name, kind, asked_for, default_value, &Access::get, &Access::set, maximum, identifies};
}

template <class Access>
constexpr Column column_of_words(std::string_view name, std::string_view header_name, ColumnKind kind,
                                 std::int64_t maximum) {
  Column made = column<Access>(name, header_name, kind, true, 0, maximum);
  made.word = &word_of<Access>;
  return made;
}

template <class Access>
constexpr Column asked(std::string_view name, std::string_view header_name, std::int64_t default_value,
                       std::int64_t maximum = kU16) {
  return column<Access>(name, header_name, ColumnKind::integer, true, default_value, maximum);
}

template <class Access>
constexpr Column asked_enum(std::string_view name, std::string_view header_name, std::int64_t maximum) {
  return column_of_words<Access>(name, header_name, ColumnKind::enumeration, maximum);
}

template <class Access>
constexpr Column asked_type(std::string_view name, std::string_view header_name) {
  return column_of_words<Access>(name, header_name, ColumnKind::data_type, 7);
}

template <class Access>
constexpr Column asked_flag(std::string_view name, std::string_view header_name) {
  return column<Access>(name, header_name, ColumnKind::flag, true, 0, 1);
}

using S = KernelSelector;

constexpr std::array kColumns = {
    asked_type<Asked<&S::data_type_q>>("data_type_q", "mDataTypeQ"),
    asked_type<Asked<&S::data_type_k>>("data_type_k", "mDataTypeK"),
    asked_type<Asked<&S::data_type_v>>("data_type_v", "mDataTypeV"),
    asked_type<Asked<&S::data_type_o>>("data_type_o", "mDataTypeO"),
    asked<Asked<&S::tile_size_q>>("tile_size_q", "mTileSizeQ", 128),
    asked<Asked<&S::tile_size_kv>>("tile_size_kv", "mTileSizeKv", 128),
    asked<Asked<&S::head_dim_per_cta_v>>("head_dim_per_cta_v", "mHeadDimPerCtaV", 0),
    asked<Asked<&S::head_dim_qk>>("head_dim_qk", "mHeadDimQk", 0),
    asked<Asked<&S::head_dim_v>>("head_dim_v", "mHeadDimV", 0),
    asked_enum<Asked<&S::layout>>("qkv_layout", "mQkvLayout", 3),
    asked<Asked<&S::tokens_per_page>>("tokens_per_page", "mNumTokensPerPage", 0, kU32),
    asked_flag<Asked<&S::dynamic_page>>("dynamic_page", ""),
    asked_enum<Asked<&S::mask>>("mask", "mMaskType", 3),
    asked_enum<Asked<&S::kernel_type>>("kernel_type", "mKernelType", 4),
    asked_enum<Asked<&S::scheduler>>("tile_scheduler", "mTileScheduler", 1),
    asked_enum<Asked<&S::multi_ctas_kv_mode>>("multi_ctas_kv_mode", "mMultiCtasKvMode", 3),
    asked<Sage<0>>("sage_block_q", "mNumEltsPerSageAttnBlkQ", 0),
    asked<Sage<1>>("sage_block_k", "mNumEltsPerSageAttnBlkK", 0),
    asked<Sage<2>>("sage_block_p", "mNumEltsPerSageAttnBlkP", 0),
    asked<Sage<3>>("sage_block_v", "mNumEltsPerSageAttnBlkV", 0),
    asked_flag<Asked<&S::groups_tokens_heads_q>>("groups_tokens_heads_q", "mGroupsTokensHeadsQ"),
    asked_flag<Asked<&S::reuses_smem_k_for_v>>("reuses_smem_k_for_v", "mReuseSmemKForV"),
    asked_flag<Asked<&S::two_cta>>("two_cta", "m2CtaMma"),
    asked_enum<Asked<&S::sparse>>("sparse", "mSparseAttn", 2),
    asked_flag<Asked<&S::skips_softmax>>("skips_softmax", "mSkipsSoftmaxWhenPossible"),
    asked_flag<Asked<&S::fp16_softmax>>("fp16_softmax", "mFp16Softmax"),
    asked_flag<Asked<&S::spcompress>>("spcompress", "mUsesSpcompress"),
    asked_enum<Asked<&S::kv_transform>>("kv_transform", "", 2),
    asked_flag<Asked<&S::fuses_inverse_rope_quant>>("fuses_inverse_rope_quant", "mFusesDsv4InvRopeFp8Quant"),
    asked_flag<Asked<&S::ue8m0_output_scale>>("ue8m0_output_scale", "mUsesDsv4Ue8m0ScaleO"),
    asked_flag<Asked<&S::soft_cap>>("soft_cap", ""),
    asked_flag<Asked<&S::separate_page_tables>>("separate_page_tables", ""),
    asked_flag<Asked<&S::invariant>>("invariant", ""),
    column<Trait<&KernelTraits::step_q>>("step_q", "mStepQ", ColumnKind::integer, false, 0, kU32),
    column<Trait<&KernelTraits::step_kv>>("step_kv", "mStepKv", ColumnKind::integer, false, 0, kU32),
    column<Trait<&KernelTraits::groups_heads_q>>("groups_heads_q", "mGroupsHeadsQ", ColumnKind::flag, false,
                                                 0, 1),
    column<Trait<&KernelTraits::stages>>("stages", "", ColumnKind::integer, false, 0, kU16),
    column<Own<&KernelRow::shared_bytes>>("shared_bytes", "mSharedMemBytes", ColumnKind::integer, false, 0,
                                          kU32, false),
    column<Own<&KernelRow::threads>>("threads", "mThreadsPerCTA", ColumnKind::integer, false, 512, kU32,
                                     false),
};

}  // namespace

std::span<const Column> kernel_columns() {
  return kColumns;
}

const Column* find_column(std::string_view name) {
  for (const Column& column : kColumns) {
    if (column.name == name) return &column;
  }
  return nullptr;
}

const Column* find_header_column(std::string_view header_name) {
  if (header_name == "mSparseMla") header_name = "mSparseAttn";  // its name while it was a flag
  for (const Column& column : kColumns) {
    if (!column.header_name.empty() && column.header_name == header_name) return &column;
  }
  return nullptr;
}

KernelRow blank_row() {
  KernelRow row;
  for (const Column& column : kColumns)
    column.set(row, column.default_value);
  return row;
}

std::string column_text(const Column& column, std::int64_t value) {
  if (!column.fits(value)) return std::to_string(value);
  if (column.word != nullptr) return std::string(column.word(value));
  if (column.kind == ColumnKind::flag) return value != 0 ? "true" : "false";
  return std::to_string(value);
}

std::optional<std::int64_t> parse_column_text(const Column& column, std::string_view text) {
  if (column.kind == ColumnKind::integer) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = !text.empty() && error == std::errc() && end == text.data() + text.size();
    return whole && column.fits(value) ? std::optional(value) : std::nullopt;
  }
  for (std::int64_t value = 0; value <= column.maximum; ++value) {
    if (column_text(column, value) == text) return value;
  }
  return std::nullopt;
}

std::string ColumnDifference::to_string() const {
  return std::string(column->name) + " " + column_text(*column, found) + " instead of " +
         column_text(*column, wanted);
}

std::vector<ColumnDifference> differences(const KernelSelector& wanted, const KernelSelector& found) {
  KernelRow a;
  KernelRow b;
  a.selector = wanted;
  b.selector = found;
  std::vector<ColumnDifference> list;
  for (const Column& column : kColumns) {
    if (column.asked_for && column.get(a) != column.get(b)) {
      list.push_back({&column, column.get(a), column.get(b)});
    }
  }
  return list;
}

}  // namespace cubinet
