// SPDX-License-Identifier: Apache-2.0
#include "metadata_scanner.hpp"

#include <cubinet/kernel_table/column.hpp>
#include <cubinet/kernel_table/metadata_header.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>

namespace cubinet {
namespace {

// The meaning of a header's column.
enum class Role {
  number,     // one of kernel_columns()
  common_kv,  // mDataTypeKv: the type of K and V if they have no columns
  target,
  function_name,
  digest,
  k_only,  // two flags that form one enumeration
  separate_kv,
  heads_in_cta,  // mMaxNumHeadsQPerKvInCta: follows from other columns
  ignored,       // mCubin, mCubinSize: null and 0
  extra,
};

struct HeaderColumn {
  std::string_view name;
  Role role = Role::extra;
  const Column* column = nullptr;
};

// The number of Q heads of one KV head that a CTA can process. Headers from before December 2025
// have it (27 columns, and the 25 of July 2025 without mGroupsHeadsQ). It equals the rows of a
// generation kernel's tile, and one for a context kernel. All 2,456 rows of flashinfer-cubin 0.4.0
// follow this rule, so the column adds nothing to tile and kernel type. A row with another value is
// not understood.
constexpr std::string_view kHeadsInCta = "mMaxNumHeadsQPerKvInCta";

constexpr std::array<std::pair<std::string_view, Role>, 9> kRoles = {{
    {"mDataTypeKv", Role::common_kv},
    {"mSM", Role::target},
    {"mFuncName", Role::function_name},
    {"sha256", Role::digest},
    {"mEnablesBf16QFp8KvKOnlyTransform", Role::k_only},
    {"mSeparateTransformedKv", Role::separate_kv},
    {kHeadsInCta, Role::heads_in_cta},
    {"mCubin", Role::ignored},
    {"mCubinSize", Role::ignored},
}};

// The columns without which a row cannot be selected. No default would be correct.
constexpr std::array<std::string_view, 7> kRequired = {"mDataTypeQ", "mDataTypeO", "mTileSizeQ", "mHeadDimQk",
                                                       "mHeadDimV",  "mSM",        "mKernelType"};

// The value of an unknown data type in a header. This project's values for headers end at 7.
constexpr std::int64_t kUnknownDataType = 8;

std::string quoted(std::string_view text) {
  return "'" + std::string(text.substr(0, 60)) + "'";
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  if (text == "false") return 0;
  if (text == "true") return 1;
  while (!text.empty() &&
         (text.back() == 'u' || text.back() == 'U' || text.back() == 'l' || text.back() == 'L'))
    text.remove_suffix(1);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Parses "DATA_TYPE_E4M3", with or without namespaces, or its number.
std::optional<std::int64_t> parse_header_data_type(std::string_view text) {
  if (const auto number = parse_integer(text)) return number;
  constexpr std::string_view kPrefix = "DATA_TYPE_";
  const std::size_t at = text.rfind(kPrefix);
  if (at == std::string_view::npos) return std::nullopt;
  std::string name(text.substr(at + kPrefix.size()));
  if (name == "UNKNOWN") return kUnknownDataType;
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  const auto type = parse_data_type(name);
  if (!type) return std::nullopt;
  return static_cast<std::int64_t>(*type);
}

// Parses a string literal without escapes, which no kernel's name contains.
std::optional<std::string_view> parse_string(std::string_view text) {
  if (text.size() < 2 || text.front() != '"' || text.back() != '"') return std::nullopt;
  text = text.substr(1, text.size() - 2);
  if (text.find_first_of("\"\\") != std::string_view::npos) return std::nullopt;
  return text;
}

class HeaderReader : public MetadataVisitor {
 public:
  void on_struct(std::string_view name, const std::vector<std::string_view>& fields) override {
    if (structs_.size() < kMaximumStructs && fields.size() <= kMaximumColumns)
      structs_.insert_or_assign(name, fields);
  }

  void on_row(std::string_view array_type, std::size_t line,
              std::span<const std::string_view> values) override {
    if (array_type.data() != mapped_type_.data()) map_columns(array_type);
    if (fatal_) return;
    if (columns_.empty()) {
      read_plain(line, values);
    } else {
      read_attention(line, values);
    }
  }

  Result<MetadataHeader> finish() {
    if (fatal_) return *std::move(fatal_);
    if (header_.rows.empty() && header_.plain.empty() && header_.problem_count == 0) {
      return Error{ErrorCode::invalid_argument, "the metadata header lists no kernel",
                   "a header of kernels holds an array of rows, each with a function name and a digest"};
    }
    if (modes_are_old_) {
      for (KernelRow& row : header_.rows) {
        if (row.selector.multi_ctas_kv_mode == MultiCtasKvMode::gmem_separate) {
          row.selector.multi_ctas_kv_mode = MultiCtasKvMode::cga;
        }
      }
    }
    return std::move(header_);
  }

 private:
  // Columns are looked up for every array. The limits prevent a text with many structs and arrays
  // from taking time proportional to their product.
  static constexpr std::size_t kMaximumStructs = 64;
  static constexpr std::size_t kMaximumColumns = 1024;

  void map_columns(std::string_view array_type) {
    mapped_type_ = array_type;
    columns_.clear();
    const auto found = structs_.find(array_type);
    if (found == structs_.end()) return;
    const auto has = [&](std::string_view name) {
      return std::find(found->second.begin(), found->second.end(), name) != found->second.end();
    };
    if (!has("mFuncName")) return;
    for (const std::string_view name : kRequired) {
      if (!has(name)) {
        fatal_ =
            Error{ErrorCode::unsupported, "the metadata header's struct has no column " + std::string(name),
                  "without it kernels cannot be selected; import the folder's cubins by name"};
        return;
      }
    }
    for (const std::string_view name : found->second)
      columns_.push_back(column_of(name));
    declared_ = {has("mDataTypeK"), has("mDataTypeV"),    has("mStepQ"),
                 has("mStepKv"),    has("mGroupsHeadsQ"), has("mHeadDimPerCtaV")};
    header_.columns.assign(found->second.begin(), found->second.end());
  }

  static HeaderColumn column_of(std::string_view name) {
    for (const auto& [role_name, role] : kRoles) {
      if (role_name == name) return {name, role, nullptr};
    }
    if (const Column* column = find_header_column(name)) return {name, Role::number, column};
    return {name, Role::extra, nullptr};
  }

  void problem(std::size_t line, std::string reason) {
    ++header_.problem_count;
    if (header_.problems.size() < kMaximumListedProblems)
      header_.problems.push_back({line, std::move(reason)});
  }

  // The values of a row before its defaults are filled in.
  struct Draft {
    KernelRow row;
    std::optional<std::int64_t> common_kv;
    std::string_view heads_in_cta;
    bool k_only = false;
    bool separate_kv = false;
  };

  void read_attention(std::size_t line, std::span<const std::string_view> values) {
    if (values.size() != columns_.size()) {
      return problem(line, "has " + std::to_string(values.size()) + " values for " +
                               std::to_string(columns_.size()) + " columns");
    }
    Draft draft{blank_, {}, {}, false, false};
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (auto read = read_value(columns_[i], values[i], draft); !read) {
        return problem(line, read.error().message);
      }
    }
    fill_in(draft);
    draft.row.implementation = kPublishedImplementation;
    if (auto checked = check_ranges(draft.row); !checked) return problem(line, checked.error().message);
    if (draft.row.selector.multi_ctas_kv_mode == MultiCtasKvMode::gmem_separate &&
        draft.row.function_name.find("MultiCtasKvCga") != std::string::npos) {
      modes_are_old_ = true;
    }
    header_.rows.push_back(std::move(draft.row));
  }

  static Error bad_value(const HeaderColumn& column, std::string_view value) {
    return Error{ErrorCode::invalid_argument,
                 std::string(column.name) + " is " + quoted(value) + ", which it cannot be"};
  }

  static Result<void> read_number(const HeaderColumn& header, std::string_view text, Draft& draft) {
    const Column& column = *header.column;
    const auto value =
        column.kind == ColumnKind::data_type ? parse_header_data_type(text) : parse_integer(text);
    if (!value || !column.fits(*value)) return bad_value(header, text);
    column.set(draft.row, *value);
    return {};
  }

  static Result<void> read_flag(const HeaderColumn& column, std::string_view text, bool& flag) {
    const auto value = parse_integer(text);
    if (!value || *value < 0 || *value > 1) return bad_value(column, text);
    flag = *value == 1;
    return {};
  }

  static Result<void> read_text(const HeaderColumn& column, std::string_view text, Draft& draft) {
    const auto content = parse_string(text);
    if (!content || content->empty()) return bad_value(column, text);
    if (column.role == Role::function_name) {
      draft.row.function_name = *content;
      return {};
    }
    CUBINET_TRY_ASSIGN(draft.row.digest, Sha256Digest::parse(*content));
    return {};
  }

  static Result<void> read_value(const HeaderColumn& column, std::string_view text, Draft& draft) {
    switch (column.role) {
      case Role::number:
        return read_number(column, text, draft);
      case Role::common_kv:
        draft.common_kv = parse_header_data_type(text);
        if (!draft.common_kv || *draft.common_kv < 0 || *draft.common_kv > kUnknownDataType) {
          return bad_value(column, text);
        }
        return {};
      case Role::target: {
        CUBINET_TRY_ASSIGN(draft.row.target, target_of_metadata(text));
        return {};
      }
      case Role::function_name:
      case Role::digest:
        return read_text(column, text, draft);
      case Role::k_only:
        return read_flag(column, text, draft.k_only);
      case Role::separate_kv:
        return read_flag(column, text, draft.separate_kv);
      case Role::heads_in_cta:
        draft.heads_in_cta = text;
        return {};
      case Role::ignored:
        return {};
      case Role::extra:
        draft.row.extras.push_back({std::string(column.name), std::string(text)});
        return {};
    }
    return {};
  }

  // The columns with defaults that depend on others, and whether the struct declares them.
  struct Declared {
    bool k = false;
    bool v = false;
    bool step_q = false;
    bool step_kv = false;
    bool groups_heads = false;
    bool head_dim_per_cta = false;
  };

  // Fills in the defaults that column.hpp states for the columns that the struct does not declare.
  void fill_in(Draft& draft) {
    KernelRow& row = draft.row;
    if (draft.common_kv && *draft.common_kv < kUnknownDataType) {
      const auto type = static_cast<DataType>(*draft.common_kv);
      if (!declared_.k) row.selector.data_type_k = type;
      if (!declared_.v) row.selector.data_type_v = type;
    }
    if (draft.k_only) row.selector.kv_transform = KvTransform::k_only;
    if (draft.separate_kv) row.selector.kv_transform = KvTransform::separate_kv;
    if (!declared_.step_q) row.traits.step_q = row.selector.tile_size_q;
    if (!declared_.step_kv) row.traits.step_kv = row.selector.tile_size_kv;
    if (!declared_.groups_heads) row.traits.groups_heads_q = row.selector.kernel_type != KernelType::context;
    if (!declared_.head_dim_per_cta) row.selector.head_dim_per_cta_v = row.selector.head_dim_v;
    row.selector.dynamic_page =
        row.selector.tokens_per_page == kDynamicPage && row.function_name.find("P128") == std::string::npos;
    keep_heads_in_cta(draft);
    std::sort(row.extras.begin(), row.extras.end(),
              [](const ExtraColumn& a, const ExtraColumn& b) { return a.name < b.name; });
  }

  static void keep_heads_in_cta(Draft& draft) {
    if (draft.heads_in_cta.empty()) return;
    const KernelSelector& selector = draft.row.selector;
    const std::int64_t implied = selector.kernel_type == KernelType::context ? 1 : selector.tile_size_q;
    if (parse_integer(draft.heads_in_cta) == implied) return;
    draft.row.extras.push_back({std::string(kHeadsInCta), std::string(draft.heads_in_cta)});
  }

  // Reads { nullptr, 0, <shared bytes>, "<function>", <threads>, "<sha256>", …,
  // <ns>::SmVersion::Sm100f }.
  void read_plain(std::size_t line, std::span<const std::string_view> values) {
    constexpr std::string_view kVersion = "SmVersion::Sm";
    if (values.size() < 7) return;
    const std::size_t at = values.back().rfind(kVersion);
    if (at == std::string_view::npos) return;  // an array with other content
    const auto shared = parse_integer(values[2]);
    const auto name = parse_string(values[3]);
    const auto threads = parse_integer(values[4]);
    const auto digest = parse_string(values[5]);
    if (!shared || *shared < 0 || *shared > 0xffffffff || !name || name->empty() || !threads ||
        *threads < 1 || *threads > 1024 || !digest) {
      return problem(line, "has no shared memory, name, threads and digest in their places");
    }
    const auto target = target_of_metadata(values.back().substr(at + kVersion.size()));
    const auto parsed = Sha256Digest::parse(*digest);
    if (!target) return problem(line, target.error().message);
    if (!parsed) return problem(line, parsed.error().message);
    header_.plain.push_back({std::string(*name), static_cast<std::uint32_t>(*shared),
                             static_cast<std::uint32_t>(*threads), *target, *parsed});
  }

  std::map<std::string_view, std::vector<std::string_view>> structs_;
  std::string_view mapped_type_;
  std::vector<HeaderColumn> columns_;
  KernelRow blank_ = blank_row();
  Declared declared_;
  bool modes_are_old_ = false;
  std::optional<Error> fatal_;
  MetadataHeader header_;
};

}  // namespace

Result<SmTarget> target_of_metadata(std::string_view text) {
  const std::string_view whole = text;
  if (const std::size_t at = text.rfind("kSM_"); at != std::string_view::npos) text.remove_prefix(at + 4);
  constexpr std::int64_t kFamilyOffset = 10'000;  // 10100 is 100f
  bool family = false;
  bool specific = false;
  if (!text.empty() && text.back() == 'f') family = true;
  if (!text.empty() && text.back() == 'a') specific = true;
  if (family || specific) text.remove_suffix(1);
  auto number = parse_integer(text);
  if (number && *number > kFamilyOffset && !specific) {
    family = true;
    *number -= kFamilyOffset;
  }
  if (!number || *number < 50 || *number > 999) {
    return Error{ErrorCode::invalid_argument, quoted(whole) + " names no SM target"};
  }
  SmTarget target{static_cast<std::uint16_t>(*number / 10), static_cast<std::uint16_t>(*number % 10),
                  family ? TargetKind::family : TargetKind::specific};
  const auto known = known_targets();
  const auto is_known = [&] { return std::find(known.begin(), known.end(), target) != known.end(); };
  if (!is_known() && !family && !specific) target.kind = TargetKind::baseline;  // 8.0 has no `a`
  if ((family || specific) && !is_known()) {
    return Error{ErrorCode::invalid_argument, quoted(whole) + " names no SM target that is known"};
  }
  return target;
}

Result<MetadataHeader> read_metadata_header(std::string_view text) {
  HeaderReader reader;
  CUBINET_TRY(scan_metadata(text, reader));
  return reader.finish();
}

}  // namespace cubinet
