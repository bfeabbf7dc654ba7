// SPDX-License-Identifier: Apache-2.0
#include "argument_layout.hpp"

#include <span>

namespace cubinet {
namespace {

// A member and its offset in bytes in each layout.
struct Offsets {
  ArgumentMember member;
  std::uint16_t v0_6_2;
  std::uint16_t v0_6_13;
  std::uint16_t v0_7_2;
};

constexpr std::uint16_t kAbsent = ArgumentLayout::kAbsent;
using Member = ArgumentMember;
constexpr Offsets kOffsets[] = {
    {Member::map_q, 0, 0, 0},
    {Member::map_k, 128, 128, 128},
    {Member::map_v, 256, 384, 384},
    {Member::map_o, 384, 512, 512},
    {Member::map_k_scales, 512, 640, 640},
    {Member::map_v_scales, 640, 768, 768},
    {Member::output, 784, 912, 912},
    {Member::output_block_scales, 792, 920, 920},
    {Member::sinks, 800, 928, 928},
    {Member::q_offsets, 808, 936, 936},
    {Member::kv_offsets, 816, 944, 944},
    {Member::counters, 856, 984, 1000},
    {Member::output_scale_address, 864, 992, 1008},
    {Member::page_table, 872, 1000, 1016},
    {Member::partial_output, 880, 1008, 1024},
    {Member::partial_stats, 888, 1016, 1032},
    {Member::softmax_scale_address, 928, 1056, 1072},
    {Member::kv_lengths, 952, 1080, 1096},
    {Member::softmax_stats, 968, 1096, 1112},
    {Member::window, 976, 1112, 1128},
    {Member::batch, 980, 1116, 1132},
    {Member::q_len, 1008, 1144, 1172},
    {Member::kv_len, 1012, 1148, 1176},
    {Member::ctas_q, 1016, 1152, 1180},
    {Member::ctas_kv, 1020, 1156, 1184},
    {Member::pages_per_sequence, 1024, 1160, 1188},
    {Member::heads_kv, 1028, 1164, 1192},
    {Member::heads_q, 1032, 1168, 1196},
    {Member::group, 1036, 1172, 1200},
    {Member::group_divisor, 1040, 1176, 1204},
    {Member::hidden_output, 1056, 1192, 1224},
    {Member::pool_pages, 1064, 1200, 1232},
    {Member::tokens_per_cta, 1068, 1204, 1236},
    {Member::log2_tokens_per_page, 1072, 1208, 1240},
    {Member::kv_reshape, kAbsent, 1212, 1244},
    {Member::output_scale, 1076, 1216, 1248},
    {Member::softmax_scale, 1080, 1220, 1252},
    {Member::kv_block_scale, 1084, 1224, 1256},
    {Member::output_block_scale, 1088, 1228, 1260},
    {Member::total_q, 1100, 1244, 1276},
    {Member::total_kv, 1104, 1248, 1280},
    {Member::shares_page_table, kAbsent, 1253, 1285},
};
static_assert(std::size(kOffsets) == kArgumentMembers);

constexpr std::array<std::uint16_t, kArgumentMembers> column(std::uint16_t Offsets::*version) {
  std::array<std::uint16_t, kArgumentMembers> offsets{};
  for (const Offsets& row : kOffsets)
    offsets[static_cast<std::size_t>(row.member)] = row.*version;
  return offsets;
}

constexpr ArgumentLayout kLayouts[] = {
    {"0.6.2", 1152, false, false, true, false, column(&Offsets::v0_6_2)},
    {"0.6.13", 1280, true, true, false, false, column(&Offsets::v0_6_13)},
    {"0.7.2", 1408, true, true, false, true, column(&Offsets::v0_7_2)},
};

}  // namespace

const ArgumentLayout* find_argument_layout(std::string_view name) {
  for (const ArgumentLayout& layout : kLayouts) {
    if (layout.name == name) return &layout;
  }
  return nullptr;
}

}  // namespace cubinet
