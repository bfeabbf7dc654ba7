// SPDX-License-Identifier: Apache-2.0
#include <cubinet/artifacts/kernel_name.hpp>

#include <array>
#include <charconv>
#include <utility>

namespace cubinet {
namespace {

enum class Page { not_said, number, dynamic };

// The properties stated in a name, in the terms of a row.
struct Said {
  std::uint32_t arch = 0;
  char suffix = 0;
  DataType q = DataType::bf16, k = DataType::bf16, v = DataType::bf16, o = DataType::bf16;
  std::uint32_t head_dim_qk = 0, head_dim_v = 0;
  std::optional<std::uint32_t> head_dim_per_cta_v;
  QkvLayout layout = QkvLayout::paged_kv;
  AttentionMask mask = AttentionMask::dense;
  bool sparse = false;
  std::optional<SparseAttention> sparse_kind;
  Page page = Page::not_said;
  std::uint32_t tokens_per_page = 0;
  bool multi_ctas = false;
  std::optional<MultiCtasKvMode> multi_ctas_mode;
  bool skips_softmax = false;
  std::uint32_t tile_q = 0, kv = 0;
  std::array<std::optional<std::uint32_t>, 4> sage;
  TileScheduler scheduler = TileScheduler::static_grid;
  bool two_cta = false;
  KernelType kind = KernelType::context;
};

template <class Value>
using Words = std::span<const std::pair<std::string_view, Value>>;

constexpr std::pair<std::string_view, DataType> kTypes[] = {
    {"E4m3", DataType::e4m3},     {"E5m2", DataType::e5m2}, {"E2m1", DataType::e2m1},
    {"Bfloat16", DataType::bf16}, {"Fp16", DataType::fp16}, {"Fp32", DataType::fp32},
    {"Int8", DataType::int8}};
constexpr std::pair<std::string_view, QkvLayout> kLayouts[] = {{"PackedQkv", QkvLayout::packed_qkv},
                                                               {"PagedKv", QkvLayout::paged_kv},
                                                               {"SeparateQkv", QkvLayout::separate_qkv},
                                                               {"ContiguousKv", QkvLayout::contiguous_kv}};
constexpr std::pair<std::string_view, AttentionMask> kMasks[] = {
    {"Dense", AttentionMask::dense},
    {"Causal", AttentionMask::causal},
    {"SlidingOrChunkedCausal", AttentionMask::sliding_or_chunked_causal},
    {"Custom", AttentionMask::custom}};
constexpr std::pair<std::string_view, TileScheduler> kSchedulers[] = {
    {"Static", TileScheduler::static_grid}, {"Persistent", TileScheduler::persistent}};
constexpr std::pair<std::string_view, KernelType> kKinds[] = {{"Context", KernelType::context},
                                                              {"SwapsAbForGen", KernelType::swaps_mma_ab},
                                                              {"KeepsAbForGen", KernelType::keeps_mma_ab}};
constexpr std::string_view kSageWords[] = {"SageQ", "SageK", "SageP", "SageV"};

// Parses a name from the left. Each `take` consumes nothing if it does not match.
class NameParser {
 public:
  explicit NameParser(std::string_view name) : rest_(name) {}

  std::optional<Said> parse() {
    if (!take("fmhaSm") || !number(said_.arch)) return std::nullopt;
    if (take("a")) said_.suffix = 'a';
    if (take("f")) said_.suffix = 'f';
    if (!take("Kernel_") || !types() || !dims() || !word(Words<QkvLayout>(kLayouts), said_.layout) ||
        !word(Words<AttentionMask>(kMasks), said_.mask)) {
      return std::nullopt;
    }
    sparse();
    page();
    multi_ctas();
    if (!take("VarSeq")) return std::nullopt;
    said_.skips_softmax = take("SkipsSoftmax");
    if (!tagged("Q", said_.tile_q) || !tagged("Kv", said_.kv)) return std::nullopt;
    for (std::size_t i = 0; i < said_.sage.size(); ++i) {
      std::uint32_t block = 0;
      if (tagged(kSageWords[i], block)) said_.sage[i] = block;
    }
    if (!word(Words<TileScheduler>(kSchedulers), said_.scheduler)) return std::nullopt;
    said_.two_cta = take("2Cta");
    take("Grouped");
    if (!word(Words<KernelType>(kKinds), said_.kind) || !rest_.empty()) return std::nullopt;
    return said_;
  }

 private:
  bool take(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  bool number(std::uint32_t& value) {
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc()) return false;
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return true;
  }

  bool tagged(std::string_view tag, std::uint32_t& value) {
    const std::string_view before = rest_;
    if (take(tag) && number(value)) return true;
    rest_ = before;
    return false;
  }

  template <class Value>
  bool word(Words<Value> words, Value& value) {
    for (const auto& [text, meaning] : words) {
      if (!take(text)) continue;
      value = meaning;
      return true;
    }
    return false;
  }

  bool type(DataType& value) { return word(Words<DataType>(kTypes), value); }

  // Parses Qkv<T>, Qk<T>V<T> or Q<T>Kv<T>, then O<T>.
  bool types() {
    if (take("Qkv")) {
      if (!type(said_.q)) return false;
      said_.k = said_.v = said_.q;
    } else if (take("Qk")) {
      if (!type(said_.q) || !take("V") || !type(said_.v)) return false;
      said_.k = said_.q;
    } else {
      if (!take("Q") || !type(said_.q) || !take("Kv") || !type(said_.k)) return false;
      said_.v = said_.k;
    }
    return take("O") && type(said_.o);
  }

  bool dims() {
    if (tagged("HQk", said_.head_dim_qk)) {
      if (!tagged("HV", said_.head_dim_v)) return false;
    } else {
      if (!tagged("H", said_.head_dim_qk)) return false;
      said_.head_dim_v = said_.head_dim_qk;
    }
    std::uint32_t per_cta = 0;
    if (tagged("HVPerCta", per_cta)) said_.head_dim_per_cta_v = per_cta;
    return true;
  }

  void sparse() {
    if (take("StaticTokenSparse")) said_.sparse_kind = SparseAttention::static_token;
    if (take("DynamicTokenSparse")) said_.sparse_kind = SparseAttention::dynamic_token;
    said_.sparse = said_.sparse_kind.has_value() || take("Sparse");
  }

  void page() {
    if (take("Paged")) {
      said_.page = Page::dynamic;
    } else if (tagged("P", said_.tokens_per_page)) {
      said_.page = Page::number;
    }
  }

  void multi_ctas() {
    said_.multi_ctas = take("MultiCtasKv");
    if (!said_.multi_ctas) return;
    if (take("Cga")) said_.multi_ctas_mode = MultiCtasKvMode::cga;
    if (take("GmemSep")) said_.multi_ctas_mode = MultiCtasKvMode::gmem_separate;
  }

  std::string_view rest_;
  Said said_;
};

// Keeps the first difference that is added.
class Comparison {
 public:
  void check(bool agrees, std::string_view what, const std::string& said, const std::string& row) {
    if (agrees || found_) return;
    found_ = "its name says " + std::string(what) + " " + said + ", the row " + row;
  }
  void number(std::string_view what, std::uint32_t said, std::uint32_t row) {
    check(said == row, what, std::to_string(said), std::to_string(row));
  }
  void flag(std::string_view what, bool said, bool row) {
    check(said == row, what, said ? "yes" : "no", row ? "yes" : "no");
  }
  template <class Enum>
  void word(std::string_view what, Enum said, Enum row) {
    check(said == row, what, std::string(to_string(said)), std::string(to_string(row)));
  }

  std::optional<std::string> take() { return std::move(found_); }

 private:
  std::optional<std::string> found_;
};

void compare_target(const Said& said, const KernelRow& row, Comparison& comparison) {
  const SmTarget target = row.target;
  const bool kind_agrees = said.suffix == 0 || (said.suffix == 'a' && target.kind == TargetKind::specific) ||
                           (said.suffix == 'f' && target.kind == TargetKind::family);
  std::string name = "sm_" + std::to_string(said.arch);
  if (said.suffix != 0) name += said.suffix;
  comparison.check(kind_agrees && said.arch == target.major * 10U + target.minor, "target", name,
                   target.to_string());
}

void compare_page(const Said& said, const KernelSelector& row, Comparison& comparison) {
  const auto text = [](bool dynamic, std::uint32_t tokens) {
    return dynamic ? std::string("of any size") : std::to_string(tokens);
  };
  if (said.page == Page::not_said) {
    // Old names of rows with any page size do not state it.
    comparison.check(row.tokens_per_page == 0 || row.layout == QkvLayout::paged_kv, "page", "none",
                     text(row.dynamic_page, row.tokens_per_page));
    return;
  }
  const bool dynamic = said.page == Page::dynamic;
  comparison.check(dynamic ? row.dynamic_page : said.tokens_per_page == row.tokens_per_page, "page",
                   text(dynamic, said.tokens_per_page), text(row.dynamic_page, row.tokens_per_page));
}

void compare_mode(const Said& said, MultiCtasKvMode row, Comparison& comparison) {
  if (!said.multi_ctas) return comparison.word("multi-CTA-KV mode", MultiCtasKvMode::disabled, row);
  if (said.multi_ctas_mode) return comparison.word("multi-CTA-KV mode", *said.multi_ctas_mode, row);
  comparison.check(row == MultiCtasKvMode::gmem || row == MultiCtasKvMode::gmem_separate, "multi-CTA-KV mode",
                   "gmem", std::string(to_string(row)));
}

void compare_sparse(const Said& said, SparseAttention row, Comparison& comparison) {
  if (said.sparse_kind) return comparison.word("sparse", *said.sparse_kind, row);
  comparison.flag("sparse", said.sparse, row != SparseAttention::none);
}

std::optional<std::string> compare(const Said& said, const KernelRow& row) {
  Comparison comparison;
  const KernelSelector& selector = row.selector;
  compare_target(said, row, comparison);
  comparison.word("type of Q", said.q, selector.data_type_q);
  comparison.word("type of K", said.k, selector.data_type_k);
  comparison.word("type of V", said.v, selector.data_type_v);
  comparison.word("type of O", said.o, selector.data_type_o);
  comparison.number("head dim of QK", said.head_dim_qk, selector.head_dim_qk);
  comparison.number("head dim of V", said.head_dim_v, selector.head_dim_v);
  if (said.head_dim_per_cta_v) {
    comparison.number("head dim of V a CTA", *said.head_dim_per_cta_v, selector.head_dim_per_cta_v);
  }
  comparison.word("layout", said.layout, selector.layout);
  comparison.word("kind", said.kind, selector.kernel_type);
  if (selector.kernel_type == KernelType::context || said.mask != AttentionMask::dense ||
      selector.mask != AttentionMask::causal) {
    comparison.word("mask", said.mask, selector.mask);
  }
  compare_sparse(said, selector.sparse, comparison);
  compare_page(said, selector, comparison);
  compare_mode(said, selector.multi_ctas_kv_mode, comparison);
  comparison.flag("skips softmax", said.skips_softmax, selector.skips_softmax);
  comparison.number("tile of Q", said.tile_q, selector.tile_size_q);
  comparison.check(said.kv == selector.tile_size_kv || said.kv == row.traits.step_kv, "tile of KV",
                   std::to_string(said.kv), std::to_string(selector.tile_size_kv));
  for (std::size_t i = 0; i < said.sage.size(); ++i) {
    comparison.number(kSageWords[i], said.sage[i].value_or(0), selector.sage_block[i]);
  }
  comparison.word("scheduler", said.scheduler, selector.scheduler);
  comparison.flag("two CTAs", said.two_cta, selector.two_cta);
  return comparison.take();
}

}  // namespace

NameCheck check_kernel_name(const KernelRow& row) {
  const std::optional<Said> said = NameParser(row.function_name).parse();
  if (!said) return {};
  return {true, compare(*said, row)};
}

}  // namespace cubinet
