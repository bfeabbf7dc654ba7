// SPDX-License-Identifier: Apache-2.0
#include "selection_oracle.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <string>

namespace cubinet::test {
namespace {

using Int = std::int64_t;

// The fields that the rules vary, as numbers of the enumerations.
struct Variant {
  Int type, tile, columns, pair, kv_tile, mode, scheduler;
};

struct Found {
  Variant variant;
  const KernelRow* row;
  Int splits, x, y, z;
  Int total() const { return x * y * z; }
};

struct Oracle {
  const AttentionProblem& p;
  const DeviceFacts& d;
  const KernelRows& rows;
  Int group = p.heads_q / p.heads_kv;
  bool generation = !p.prefill;
  bool mla = generation && p.head_dim_qk == 576 && p.head_dim_v == 512;
  bool mixed =
      p.data_type_q != p.data_type_k || p.data_type_q != p.data_type_v || p.data_type_o == DataType::e2m1;
  bool cut = p.kv_len > p.window && (p.mask == AttentionMask::causal || (generation && p.q_len == 1));
  bool quick = mla && p.batch == 1 && p.q_len <= 16;

  static Int up(Int a, Int b) { return a / b + (a % b != 0 ? 1 : 0); }

  // Returns 0 for the preferred mask, page or grouping, 1 for one that serves as well, 2 for one
  // that does not serve.
  Int mask_rank(const KernelRow& row) const {
    const Int mask = static_cast<Int>(row.selector.mask);
    if (cut) return mask == 2 ? 0 : 2;
    if (mask == static_cast<Int>(p.mask)) return 0;
    const bool alike = generation && (p.q_len == 1 || mla);
    if (p.mask == AttentionMask::causal && mask == 0 && alike) return 1;
    if (p.mask == AttentionMask::dense && mask == 1 && generation && p.q_len == 1) return 1;
    return 2;
  }
  Int page_rank(const KernelRow& row) const {
    const Int page = row.selector.tokens_per_page;
    if (p.sparse != SparseAttention::none) return page == 1 && !row.selector.dynamic_page ? 0 : 2;
    if (p.layout != QkvLayout::paged_kv) return page == 0 ? 0 : 2;
    if (row.selector.dynamic_page) return p.head_dim_qk == p.head_dim_v && p.tokens_per_page >= 128 ? 0 : 2;
    return page == p.tokens_per_page ? 1 : 2;
  }
  Int group_rank(const KernelRow& row) const {
    if (!generation || mla) return row.selector.groups_tokens_heads_q ? 2 : 0;
    return row.selector.groups_tokens_heads_q == !mixed ? 0 : 1;
  }

  bool fixed_fields_fit(const KernelRow& row) const {
    const KernelSelector& s = row.selector;
    return s.data_type_q == p.data_type_q && s.data_type_k == p.data_type_k &&
           s.data_type_v == p.data_type_v && s.data_type_o == p.data_type_o && s.layout == p.layout &&
           s.head_dim_qk == p.head_dim_qk && s.head_dim_v == p.head_dim_v && s.sparse == p.sparse &&
           s.skips_softmax == p.skips_softmax && s.sage_block == p.sage_block && !s.reuses_smem_k_for_v &&
           !s.fp16_softmax && !s.spcompress && !s.fuses_inverse_rope_quant && !s.ue8m0_output_scale &&
           s.kv_transform == KvTransform::full && mask_rank(row) < 2 && page_rank(row) < 2 &&
           group_rank(row) < 2 && runs_on(row.target, d.capability) && row.understood() &&
           row.shared_bytes <= d.shared_limit();
  }

  std::optional<Found> launch(const Variant& variant, const KernelRow& row) const {
    const Int step = row.traits.step_q;
    const Int heads = row.traits.groups_heads_q ? std::min(group, step) : 1;
    if (group % heads != 0 || p.head_dim_v % variant.columns != 0) return std::nullopt;
    Int tiles = p.q_len;
    if (variant.type == 0) tiles = up(p.q_len, step);
    if (variant.type != 0 && row.selector.groups_tokens_heads_q)
      tiles = up(p.q_len, std::max<Int>(1, step / group));
    Found found{variant, &row, 1, tiles, p.heads_q / heads * (p.head_dim_v / variant.columns), p.batch};
    if (variant.pair != 0) {
      if (p.heads_q / heads != 2 || p.head_dim_v / variant.columns != 2) return std::nullopt;
      found.x = tiles * 2;
      found.y = 1;
    }
    Int reach = p.kv_len;
    if (p.sparse != SparseAttention::none) reach = std::min<Int>(reach, p.top_k);
    if (cut) reach = std::min<Int>(reach, Int{p.window} + row.traits.step_kv - 1);
    if (variant.mode != 0) {
      const Int room = std::max<Int>(1, Int{d.sm_count} / found.total());
      found.splits = std::min(up(reach, 2 * Int{row.traits.step_kv}), room);
      found.x *= found.splits;
    }
    if (variant.mode == 3 && found.splits > 16) return std::nullopt;
    if (variant.mode == 2) {
      const bool e4m3 = p.data_type_q == DataType::e4m3;
      const bool half = p.data_type_o == DataType::bf16 || p.data_type_o == DataType::fp16;
      const bool types =
          e4m3 ? half || p.data_type_o == DataType::e4m3 : half && p.data_type_q == p.data_type_o;
      if (!mla || variant.type != 3 || variant.tile != 64 || variant.kv_tile != 128 || !types)
        return std::nullopt;
    }
    return found;
  }

  // Returns the first of all rows that match, ordered by grouping, page, mask, target, larger
  // steps.
  std::optional<Found> find(const Variant& variant) const {
    std::optional<Found> best;
    const auto rank = [&](const KernelRow& row) {
      return std::tuple(group_rank(row), page_rank(row), mask_rank(row),
                        row.target.kind == TargetKind::specific ? 0
                        : row.target.kind == TargetKind::family ? 1
                                                                : 2,
                        -Int{row.target.minor}, -Int{row.traits.step_kv}, -Int{row.traits.step_q},
                        !row.traits.groups_heads_q, row.function_name);
    };
    for (const auto& shared : rows) {
      const KernelRow& row = *shared;
      const KernelSelector& s = row.selector;
      if (static_cast<Int>(s.kernel_type) != variant.type || s.tile_size_q != variant.tile ||
          s.head_dim_per_cta_v != variant.columns || s.two_cta != (variant.pair != 0) ||
          s.tile_size_kv != variant.kv_tile || static_cast<Int>(s.multi_ctas_kv_mode) != variant.mode ||
          static_cast<Int>(s.scheduler) != variant.scheduler) {
        continue;
      }
      if (!fixed_fields_fit(row)) continue;
      const auto found = launch(variant, row);
      if (found && (!best || rank(row) < rank(*best->row))) best = found;
    }
    return best;
  }

  std::optional<Found> begin(Variant variant) const {
    std::vector<std::pair<Int, Int>> modes;
    if (variant.type == 0) {
      modes = {{0, 1}, {0, 0}};
    } else if (mla && variant.type == 3) {
      modes = {{2, 0}, {1, 0}, {0, 1}, {0, 0}};
    } else if (variant.type == 2) {
      modes = {{1, 0}, {3, 0}, {0, 1}, {0, 0}};
    } else {
      modes = {{1, 0}, {0, 1}, {0, 0}};
    }
    for (const auto& [mode, scheduler] : modes) {
      variant.mode = mode;
      variant.scheduler = scheduler;
      const auto found = find(variant);
      if (!found) continue;
      if (mode == 3 && (quick || found->splits < 2)) continue;
      return found;
    }
    return std::nullopt;
  }

  Found refine(Found now, std::set<std::string> done) const {
    const auto move = [&](const std::string& name,
                          const std::vector<Variant>& variants) -> std::optional<Found> {
      if (!done.insert(name).second) return std::nullopt;
      for (const Variant& variant : variants) {
        if (auto next = find(variant)) return refine(*next, done);
      }
      return std::nullopt;
    };
    const auto with = [&](Int mode, Int scheduler, Int columns) {
      Variant variant = now.variant;
      variant.mode = mode;
      variant.scheduler = scheduler;
      variant.columns = columns;
      return variant;
    };
    const Variant& w = now.variant;
    if (w.mode != 0 && now.splits == 1) {
      if (auto next = move("whole", {with(0, 1, w.columns), with(0, 0, w.columns)})) return *next;
    }
    if (w.mode == 1 && w.type == 2 && !quick && now.splits > 1 && now.splits <= 16) {
      if (auto next = move("cluster", {with(3, w.scheduler, w.columns)})) return *next;
    }
    const Int weighted = now.total() * (quick ? 1 : 2);
    if (mla && w.pair == 0 && w.columns == 512 && weighted <= Int{d.sm_count}) {
      std::vector<Variant> variants;
      if (2 * weighted <= Int{d.sm_count}) variants.push_back(with(w.mode, w.scheduler, 128));
      variants.push_back(with(w.mode, w.scheduler, 256));
      if (auto next = move("columns", variants)) return *next;
    }
    return now;
  }

  double time(const Found& found) const {
    const double loop = found.variant.tile == 128  ? 2.2
                        : found.variant.tile == 64 ? 1.68
                        : found.variant.tile == 32 ? 1.48
                        : found.variant.tile == 16 ? 1.2
                                                   : 1.0;
    const double reduce = found.variant.tile == 128  ? 1.32
                          : found.variant.tile == 64 ? 1.2
                          : found.variant.tile == 32 ? 1.08
                          : found.variant.tile == 16 ? 1.03
                                                     : 1.0;
    const Int step = found.row->traits.step_kv;
    const Int length = up(up(p.kv_len, step), found.splits) * step;
    return (loop * static_cast<double>(length) + reduce * 128.0 * static_cast<double>(found.splits)) *
           static_cast<double>(up(found.total(), d.sm_count));
  }

  std::vector<Variant> mla_variants() const {
    std::vector<Variant> keeps;
    if (p.sparse == SparseAttention::none || group == 128) {
      if (group == 128) keeps.push_back({3, 64, 256, 1, 128, 0, 0});
      for (const Int columns : {512, 256, 128})
        keeps.push_back({3, 64, columns, 0, 128, 0, 0});
    }
    std::vector<Variant> swaps;
    for (const Int tile : group <= 8 ? std::vector<Int>{8, 16, 32} : std::vector<Int>{16, 32, 8}) {
      for (const Int columns : {512, 256, 128})
        swaps.push_back({2, tile, columns, 0, 128, 0, 0});
    }
    const Int ctas = Int{p.batch} * p.q_len * up(group, 16);
    const Int share = std::min(up(p.kv_len, 256), std::max<Int>(1, Int{d.sm_count} / ctas));
    const bool swap = group <= 32 || (p.sparse != SparseAttention::none && group < 128) ||
                      (up(p.kv_len, share) <= 1024 && ctas <= Int{d.sm_count});
    std::vector<Variant> all = swap ? swaps : keeps;
    const std::vector<Variant>& rest = swap ? keeps : swaps;
    all.insert(all.end(), rest.begin(), rest.end());
    return all;
  }

  std::vector<Variant> gqa_variants(std::size_t& compared) const {
    const Int need = mixed ? (group > 8 ? 16 : 8) : group * p.q_len;
    std::vector<Int> tiles = {128, 64, 32, 16, 8};
    Int standard = 128;
    for (const Int tile : tiles) {
      if (tile >= need) standard = tile;
    }
    std::vector<Int> order;
    for (const Int tile : tiles) {
      if (tile == standard || (tile < standard && tile >= group && !mixed && p.q_len > 1))
        order.push_back(tile);
    }
    compared = order.size();
    for (auto tile = tiles.rbegin(); tile != tiles.rend(); ++tile) {
      if (*tile > standard && (!mixed || *tile <= 32)) order.push_back(*tile);
    }
    for (const Int tile : tiles) {
      if (std::find(order.begin(), order.end(), tile) == order.end() && tile < standard)
        order.push_back(tile);
    }
    std::vector<Variant> variants;
    const auto add = [&](Int tile, Int columns) {
      variants.push_back({tile > 32 ? 3 : 2, tile, columns, 0, 128, 0, 0});
    };
    for (const Int tile : order)
      add(tile, p.head_dim_v);
    for (const Int tile : order) {
      for (const Int columns : {256, 128}) {
        if (columns < Int{p.head_dim_v} && p.head_dim_v % columns == 0) add(tile, columns);
      }
    }
    return variants;
  }

  std::optional<Found> answer() const {
    std::vector<Variant> variants;
    std::size_t compared = 1;
    if (mla) {
      variants = mla_variants();
    } else if (generation) {
      variants = gqa_variants(compared);
    } else {
      for (const Int columns : {Int{p.head_dim_v}, Int{256}, Int{128}}) {
        if (columns == p.head_dim_v || (columns < p.head_dim_v && p.head_dim_v % columns == 0)) {
          variants.push_back({0, 128, columns, 0, 128, 0, 0});
        }
      }
    }
    std::optional<Found> best;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < compared && i < variants.size(); ++i) {
      const auto found = begin(variants[i]);
      if (!found) continue;
      if (i == 0 && (compared == 1 || 2 * found->total() > Int{d.sm_count})) return refine(*found, {});
      if (time(*found) < least) {
        least = time(*found);
        best = found;
      }
    }
    if (best) return refine(*best, {});
    for (std::size_t i = compared; i < variants.size(); ++i) {
      if (const auto found = begin(variants[i])) return refine(*found, {});
    }
    return std::nullopt;
  }
};

}  // namespace

std::optional<OracleAnswer> brute_force_select(const AttentionProblem& problem, const DeviceFacts& device,
                                               const KernelRows& rows) {
  const auto found = Oracle{problem, device, rows}.answer();
  if (!found) return std::nullopt;
  return OracleAnswer{found->row, found->splits, {found->x, found->y, found->z}};
}

bool serves_unsplit(const AttentionProblem& problem, const DeviceFacts& device, const KernelRow& row) {
  const KernelRows alone = {std::make_shared<const KernelRow>(row)};
  const Oracle oracle{problem, device, alone};
  const KernelSelector& s = row.selector;
  if (s.multi_ctas_kv_mode != MultiCtasKvMode::disabled || s.tile_size_kv != 128) return false;
  if (!oracle.fixed_fields_fit(row)) return false;
  const bool context = s.kernel_type == KernelType::context;
  if (context == oracle.generation || s.kernel_type == KernelType::spec_decoding) return false;
  const bool swaps = s.kernel_type == KernelType::swaps_mma_ab;
  if (context ? s.tile_size_q != 128 : swaps != (s.tile_size_q <= 32) || s.tile_size_q > 128) return false;
  if (oracle.mla && !swaps) {
    if (s.tile_size_q != 64 || (problem.sparse != SparseAttention::none && oracle.group != 128)) return false;
  }
  if (!context && !oracle.mla && oracle.mixed && !swaps) return false;
  const std::set<Int> columns = {problem.head_dim_v, 256, 128};
  if (columns.count(s.head_dim_per_cta_v) == 0 || s.head_dim_per_cta_v > problem.head_dim_v) return false;
  if (s.two_cta && !(oracle.mla && !swaps && oracle.group == 128 && s.head_dim_per_cta_v == 256))
    return false;
  return oracle
      .launch({static_cast<Int>(s.kernel_type), s.tile_size_q, s.head_dim_per_cta_v, s.two_cta ? 1 : 0, 128,
               0, 0},
              row)
      .has_value();
}

}  // namespace cubinet::test
