// SPDX-License-Identifier: Apache-2.0
#include <cubinet/kernel_table/column.hpp>
#include <cubinet/kernel_table/row_codec.hpp>
#include <cubinet/spec/parameter_view.hpp>

#include <xxhash.h>

#include <algorithm>
#include <utility>

namespace cubinet {
namespace {

// The parameters of a published kernel that are not columns.
constexpr std::string_view kLayout = "layout";
constexpr std::string_view kPin = "pin";

template <class Value>
std::uint64_t at(Value value, unsigned bit) {
  return static_cast<std::uint64_t>(value) << bit;
}

std::uint64_t flags_of(const KernelSelector& s) {
  return at(s.dynamic_page, 0) | at(s.groups_tokens_heads_q, 1) | at(s.reuses_smem_k_for_v, 2) |
         at(s.two_cta, 3) | at(s.skips_softmax, 4) | at(s.fp16_softmax, 5) | at(s.spcompress, 6) |
         at(s.fuses_inverse_rope_quant, 7) | at(s.ue8m0_output_scale, 8) | at(s.soft_cap, 9) |
         at(s.separate_page_tables, 10) | at(s.invariant, 11);
}

Error damaged(const std::string& reason) {
  return Error{ErrorCode::corruption, "a kernel row's encoding " + reason};
}

// Returns the columns that are part of a row's specification, ascending by name.
const std::vector<const Column*>& identifying_columns() {
  static const std::vector<const Column*> kIdentifying = [] {
    std::vector<const Column*> columns;
    for (const Column& column : kernel_columns()) {
      if (column.identifies) columns.push_back(&column);
    }
    std::sort(columns.begin(), columns.end(),
              [](const Column* a, const Column* b) { return a->name < b->name; });
    return columns;
  }();
  return kIdentifying;
}

using Parameters = std::vector<ParameterView>;

ParameterView parameter_of(const Column& column, std::int64_t value) {
  if (column.kind == ColumnKind::integer) return {column.name, value};
  if (column.kind == ColumnKind::flag) return {column.name, value != 0};
  return {column.name, column.word(value)};
}

// Sets a parameter like KernelSpec::set().
void set(Parameters& parameters, std::string_view name, std::string_view text) {
  const auto place =
      std::lower_bound(parameters.begin(), parameters.end(), name,
                       [](const ParameterView& each, std::string_view wanted) { return each.name < wanted; });
  if (place != parameters.end() && place->name == name) {
    place->value = text;
  } else {
    parameters.insert(place, {name, text});
  }
}

// Returns the parameters of a row's specification, ascending by name. They refer to the row. A
// table has thousands of rows, and this makes their identities without a specification for each.
Parameters parameters_of(const KernelRow& row) {
  Parameters parameters;
  parameters.reserve(identifying_columns().size() + row.extras.size() + 2);
  for (const Column* column : identifying_columns()) {
    const std::int64_t value = column->get(row);
    if (value != column->default_value) parameters.push_back(parameter_of(*column, value));
  }
  for (const ExtraColumn& extra : row.extras) {
    if (!extra.is_off()) set(parameters, extra.name, extra.value);
  }
  if (!row.layout.empty()) set(parameters, kLayout, row.layout);
  if (!row.pin.empty()) set(parameters, kPin, row.pin);
  return parameters;
}

// Sets a column. A default must not be listed, because a row has only one specification.
Result<void> set_column(KernelRow& row, const Column& column, const ParameterValue& value) {
  std::optional<std::int64_t> number;
  if (const auto* integer = std::get_if<std::int64_t>(&value);
      integer && column.kind == ColumnKind::integer) {
    number = *integer;
  } else if (const bool* flag = std::get_if<bool>(&value); flag && column.kind == ColumnKind::flag) {
    number = *flag ? 1 : 0;
  } else if (const auto* text = std::get_if<std::string>(&value);
             text && column.kind != ColumnKind::integer && column.kind != ColumnKind::flag) {
    number = parse_column_text(column, *text);
  }
  if (!number || !column.fits(*number) || *number == column.default_value || !column.identifies) {
    return damaged("holds a " + std::string(column.name) + " of " + to_string(value));
  }
  column.set(row, *number);
  return {};
}

Result<void> set_text(KernelRow& row, const std::string& name, const ParameterValue& value) {
  const auto* text = std::get_if<std::string>(&value);
  if (text == nullptr || text->empty()) return damaged("holds no text for " + name);
  if (name == kLayout) {
    row.layout = *text;
  } else if (name == kPin) {
    row.pin = *text;
  } else {
    row.extras.push_back({name, *text});
    if (row.extras.back().is_off()) return damaged("lists an extra column that is off");
  }
  return {};
}

}  // namespace

SelectorEncoding encode_selector(const KernelSelector& s) {
  return {
      at(s.layout, 8) | at(s.mask, 16) | at(s.kernel_type, 24) | at(s.scheduler, 32) |
          at(s.multi_ctas_kv_mode, 40) | at(s.sparse, 48) | at(s.kv_transform, 56),
      at(s.data_type_q, 0) | at(s.data_type_k, 8) | at(s.data_type_v, 16) | at(s.data_type_o, 24) |
          at(flags_of(s), 32) | at(s.tile_size_q, 48),
      at(s.tile_size_kv, 0) | at(s.head_dim_per_cta_v, 16) | at(s.head_dim_qk, 32) | at(s.head_dim_v, 48),
      at(s.sage_block[0], 0) | at(s.sage_block[1], 16) | at(s.sage_block[2], 32) | at(s.sage_block[3], 48),
      at(s.tokens_per_page, 0)};
}

std::uint64_t hash_of(const SelectorEncoding& encoding) {
  return XXH3_64bits(encoding.data(), sizeof(encoding));
}

KernelSpec published_spec(const KernelRow& row) {
  KernelSpec spec{row.implementation, {}, KernelMaker::publisher};
  for (const auto& [name, value] : parameters_of(row)) {
    std::visit([&, name = name](const auto& each) { spec.set(name, each); }, value);
  }
  return spec;
}

KernelIdentity identify(const KernelRow& row) {
  return identify(KernelMaker::publisher, row.implementation, parameters_of(row), row.target);
}

Result<KernelRow> row_of(const KernelSpec& published) {
  if (published.maker != KernelMaker::publisher) return damaged("is no row");
  KernelRow row = blank_row();
  row.implementation = published.name;
  for (const auto& [name, value] : published.parameters) {
    const Column* column = find_column(name);
    CUBINET_TRY(column != nullptr ? set_column(row, *column, value) : set_text(row, name, value));
  }
  CUBINET_TRY(check_ranges(row));
  return row;
}

Bytes encode_row(const KernelRow& row) {
  return identify(KernelMaker::publisher, row.implementation, parameters_of(row)).encoding();
}

Result<KernelRow> decode_row(ByteView bytes) {
  CUBINET_TRY_ASSIGN(const KernelSpec published, decode_kernel(bytes));
  return row_of(published);
}

}  // namespace cubinet
