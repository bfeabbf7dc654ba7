// SPDX-License-Identifier: Apache-2.0
// Imports catalogs of FlashInfer and of cuDNN's frontend, compiles one kernel of each and compares
// its results with float64. Arguments, grid and tensor maps are those of the publishers' host code.
// Needs a device of 9.0, NVRTC and CUBINET_TEST_SOURCES: a folder with the unpacked wheels
// flashinfer-python 0.7.2.post1 and nvidia-cudnn-frontend 1.28.0, called `flashinfer` and `cudnn`,
// and with the manifest of the latter, cudnn_frontend-1.28.0.manifest.json.
#include "support/compiler_search.hpp"
#include "support/ok.hpp"
#include "support/skip.hpp"
#include "support/temp_dir.hpp"

#include <cubinet/loader/memory.hpp>
#include <cubinet/loader/stream.hpp>
#include <cubinet/loader/tensor_map.hpp>
#include <cubinet/session.hpp>
#include <cubinet/sources/source_import.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <random>
#include <vector>

namespace cubinet {
namespace {

using test::ok;

std::uint16_t bf16_of(double value) {
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  return static_cast<std::uint16_t>((bits + 0x7FFFU + ((bits >> 16U) & 1U)) >> 16U);
}

double value_of(std::uint16_t bf16) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bf16) << 16U);
}

std::vector<std::uint16_t> random_bf16(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  std::vector<std::uint16_t> values(count);
  for (std::uint16_t& value : values)
    value = bf16_of(normal(random));
  return values;
}

// A device of 9.0 and a Session over a home with an imported catalog.
struct PublishedSources {
  // Skips the test and leaves `session` empty if something is missing.
  PublishedSources(const char* wheel, const char* manifest) {
    const char* folder = std::getenv("CUBINET_TEST_SOURCES");
    if (folder == nullptr) {
      test::skip("CUBINET_TEST_SOURCES is not set");
      return;
    }
    const std::filesystem::path root = folder;
    const SourceCatalogs catalogs(home.path());
    const std::filesystem::path given = manifest == nullptr ? std::filesystem::path() : root / manifest;
    const SourceImportReport report =
        ok(import_sources(*posix_file_system(), {root / wheel, given, {}}, catalogs));
    for (const LeftManifest& left : report.refused)
      FAIL_CHECK(left.reason.to_line());
    SessionOptions options;
    options.home = home.path().string();
    options.compiler = test::compiler_search();
    auto opened = ok(Session::open(options));
    const auto found = opened->device(0);
    if (!found || (*found)->properties().capability != ComputeCapability{9, 0}) {
      test::skip(found ? "the kernels are for a device of 9.0" : found.error().to_line());
      return;
    }
    device = *found;
    current.emplace(ok(device->make_current()));
    session = std::move(opened);
  }

  Function function(const char* name) const {
    const auto kernel = ok(session->runtime().resolve(std::string_view(name)));
    return ok(session->runtime().function(*kernel, 0));
  }

  test::TempDir home;
  std::shared_ptr<Session> session;
  std::shared_ptr<const Device> device;
  std::optional<Device::ContextGuard> current;
};

// The largest difference from the reference, relative to its largest value.
class Difference {
 public:
  void add(double value, double reference) {
    largest_ = std::max(largest_, std::isfinite(value) ? std::abs(value - reference) : HUGE_VAL);
    scale_ = std::max(scale_, std::abs(reference));
  }
  double relative() const { return largest_ / scale_; }

 private:
  double largest_ = 0;
  double scale_ = 0;
};

// RMSNorm, then rotary embedding of the dimensions i and i + 64.
std::array<double, 128> normed_and_rotated(const std::uint16_t* head, const std::vector<float>& weight,
                                           const float* cos_sin) {
  std::array<double, 128> x{};
  double squares = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    squares += value_of(head[i]) * value_of(head[i]);
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = value_of(head[i]) / std::sqrt(squares / 128 + 1e-6) * weight[i];
  std::array<double, 128> rotated{};
  for (std::size_t i = 0; i < 64; ++i) {
    const double cosine = cos_sin[i];
    const double sine = cos_sin[64 + i];
    rotated[i] = x[i] * cosine - x[i + 64] * sine;
    rotated[i + 64] = x[i + 64] * cosine + x[i] * sine;
  }
  return rotated;
}

TEST_CASE("A fused norm, rotation and append of FlashInfer agrees with float64") {
  const PublishedSources sources("flashinfer", nullptr);
  if (sources.session == nullptr) return;
  constexpr std::size_t kHeadsQ = 64;
  constexpr std::size_t kHeadsKv = 8;
  constexpr std::size_t kHeadDim = 128;
  constexpr std::size_t kPage = 16;
  constexpr std::size_t kMaxPages = 6;
  constexpr std::uint16_t kUntouched = 0x4049;  // 3.14
  const std::vector<std::int32_t> starts = {0, 1, 4, 9, 26};
  const std::vector<std::int32_t> lengths = {40, 3, 64, 81};  // after the append
  const std::size_t rows = 26;
  const std::size_t requests = lengths.size();
  const std::size_t columns = (kHeadsQ + 2 * kHeadsKv) * kHeadDim;
  const std::size_t page_elements = kPage * kHeadsKv * kHeadDim;
  const std::size_t pages = requests * kMaxPages;
  std::vector<std::int32_t> page_table(pages);
  for (std::size_t i = 0; i < pages; ++i)
    page_table[i] = static_cast<std::int32_t>((i * 7 + 5) % pages);  // 7 and 24 have no common divisor
  const std::vector<std::uint16_t> qkv = random_bf16(rows * columns, 1);
  std::vector<float> cos_sin(128 * kHeadDim);
  for (std::size_t position = 0; position < 128; ++position) {
    for (std::size_t i = 0; i < 64; ++i) {
      const double angle = static_cast<double>(position) * std::pow(10000.0, -static_cast<double>(i) / 64);
      cos_sin[position * 128 + i] = static_cast<float>(std::cos(angle));
      cos_sin[position * 128 + 64 + i] = static_cast<float>(std::sin(angle));
    }
  }
  std::vector<float> q_weight(kHeadDim);
  std::vector<float> k_weight(kHeadDim);
  for (std::size_t i = 0; i < kHeadDim; ++i) {
    q_weight[i] = 0.5F + static_cast<float>(i) / 128;
    k_weight[i] = 1.5F - static_cast<float>(i) / 128;
  }
  const std::vector<std::uint16_t> untouched(pages * page_elements, kUntouched);

  const auto& device = sources.device;
  const DeviceBuffer qkv_buffer = ok(DeviceBuffer::copy_of(device, qkv));
  const DeviceBuffer cos_sin_buffer = ok(DeviceBuffer::copy_of(device, cos_sin));
  const DeviceBuffer starts_buffer = ok(DeviceBuffer::copy_of(device, starts));
  const DeviceBuffer lengths_buffer = ok(DeviceBuffer::copy_of(device, lengths));
  const DeviceBuffer table_buffer = ok(DeviceBuffer::copy_of(device, page_table));
  const DeviceBuffer k_buffer = ok(DeviceBuffer::copy_of(device, untouched));
  const DeviceBuffer v_buffer = ok(DeviceBuffer::copy_of(device, untouched));
  const DeviceBuffer q_out = ok(DeviceBuffer::zeroed(device, rows * kHeadsQ * kHeadDim * 2));
  const DeviceBuffer q_weight_buffer = ok(DeviceBuffer::copy_of(device, q_weight));
  const DeviceBuffer k_weight_buffer = ok(DeviceBuffer::copy_of(device, k_weight));

  // The stage hq64_hkv8_d: eight warps a row, so two blocks of four warps.
  const auto row_blocks = static_cast<std::int32_t>(rows * 2);
  const std::int32_t chunks = kPage * kHeadsKv * kHeadDim / 8;
  const std::int32_t clear_units = 2 * ((chunks + 255) / 256);
  const auto clear_blocks =
      static_cast<std::int32_t>((requests * static_cast<std::size_t>(clear_units) + 3) / 4);
  const Function append = sources.function("cake_fused_qk_rope_append_0fd497d5c3f9b5153b38");
  const Stream stream = ok(Stream::create(device));
  LaunchConfig config;
  config.grid = {static_cast<std::uint32_t>(row_blocks + clear_blocks), 1, 1};
  config.stream = stream.handle();
  ok(append.launch(config, qkv_buffer.address(), cos_sin_buffer.address(), starts_buffer.address(),
                   lengths_buffer.address(), table_buffer.address(), k_buffer.address(), v_buffer.address(),
                   q_out.address(), k_buffer.address(), v_buffer.address(), q_weight_buffer.address(),
                   k_weight_buffer.address(), static_cast<std::int32_t>(rows),
                   static_cast<std::int32_t>(requests), static_cast<std::int32_t>(kMaxPages),
                   static_cast<std::int32_t>(kPage), static_cast<std::int64_t>(page_elements),
                   static_cast<std::int64_t>(page_elements), row_blocks, clear_units, std::int32_t{2}, 1e-6F,
                   std::int32_t{0}, std::int32_t{0}, std::int32_t{1}));
  ok(stream.synchronize());
  std::vector<std::uint16_t> q(rows * kHeadsQ * kHeadDim);
  std::vector<std::uint16_t> k(untouched.size());
  std::vector<std::uint16_t> v(untouched.size());
  ok(q_out.copy_to(q));
  ok(k_buffer.copy_to(k));
  ok(v_buffer.copy_to(v));

  Difference q_difference;
  Difference k_difference;
  std::size_t wrong_v = 0;
  std::vector<std::uint16_t> expected_elsewhere = untouched;
  std::vector<bool> written(pages * kPage, false);
  for (std::size_t request = 0; request < requests; ++request) {
    const auto slot_of = [&](std::int32_t position) {
      const auto at = static_cast<std::size_t>(position);
      return static_cast<std::size_t>(page_table[request * kMaxPages + at / kPage]) * kPage + at % kPage;
    };
    for (std::int32_t row = starts[request]; row < starts[request + 1]; ++row) {
      const std::int32_t position = row + lengths[request] - starts[request + 1];
      const std::uint16_t* in = qkv.data() + static_cast<std::size_t>(row) * columns;
      const float* angles = cos_sin.data() + static_cast<std::size_t>(position) * 128;
      for (std::size_t head = 0; head < kHeadsQ; ++head) {
        const auto reference = normed_and_rotated(in + head * kHeadDim, q_weight, angles);
        for (std::size_t i = 0; i < kHeadDim; ++i)
          q_difference.add(value_of(q[(static_cast<std::size_t>(row) * kHeadsQ + head) * kHeadDim + i]),
                           reference[i]);
      }
      const std::size_t slot = slot_of(position);
      written[slot] = true;
      for (std::size_t head = 0; head < kHeadsKv; ++head) {
        const std::size_t out = (slot * kHeadsKv + head) * kHeadDim;
        const auto reference = normed_and_rotated(in + (kHeadsQ + head) * kHeadDim, k_weight, angles);
        for (std::size_t i = 0; i < kHeadDim; ++i) {
          k_difference.add(value_of(k[out + i]), reference[i]);
          wrong_v += v[out + i] == in[(kHeadsQ + kHeadsKv + head) * kHeadDim + i] ? 0U : 1U;
        }
      }
    }
    // The rest of the last page is cleared.
    for (std::int32_t position = lengths[request]; position % static_cast<std::int32_t>(kPage) != 0;
         ++position) {
      const auto begin =
          expected_elsewhere.begin() + static_cast<std::ptrdiff_t>(slot_of(position) * kHeadsKv * kHeadDim);
      std::fill(begin, begin + static_cast<std::ptrdiff_t>(kHeadsKv * kHeadDim), std::uint16_t{0});
    }
  }
  std::size_t wrong_elsewhere = 0;
  for (std::size_t i = 0; i < untouched.size(); ++i) {
    if (written[i / (kHeadsKv * kHeadDim)]) continue;
    wrong_elsewhere += k[i] == expected_elsewhere[i] && v[i] == expected_elsewhere[i] ? 0U : 1U;
  }
  MESSAGE("relative difference of Q " << q_difference.relative() << ", of K " << k_difference.relative());
  CHECK(q_difference.relative() < 0.004);  // half a unit of bf16's last place is 1 / 512
  CHECK(k_difference.relative() < 0.004);
  CHECK(wrong_v == 0);
  CHECK(wrong_elsewhere == 0);
}

// The structures of cuDNN frontend's attention_utils.h.
struct CudnnAttention {
  std::uint32_t batch, heads_q, heads_k, heads_v, tokens_q, tokens_kv, dim_qk, dim_v;
  std::uint16_t heads_per_k, heads_per_v, least_heads_per_kv;
};
struct CudnnDivisor {
  std::uint32_t value, shift, factor;
};
struct CudnnTensor {
  std::int64_t rank;
  std::int64_t sizes[12];
  std::int64_t strides[12];
};
struct alignas(64) CudnnMap {
  std::array<std::byte, 128> bytes;
};

// Returns the numbers with which the kernel divides: umulhi(2 * x, factor) >> shift.
CudnnDivisor divisor(std::uint32_t value) {
  if (value <= 1) return {value, 0, 0x80000000U};
  const std::uint64_t twice = std::uint64_t{2} * value;
  const auto power = static_cast<std::uint32_t>(31 + std::bit_width(twice - 1));
  return {value, power - 32, static_cast<std::uint32_t>(((std::uint64_t{1} << power) + twice - 1) / twice)};
}

// A contiguous tensor [batch, heads, tokens, dim] of 16-bit elements.
CudnnMap map_of(const Device& device, std::uint64_t address, std::uint32_t batch, std::uint32_t heads,
                std::uint32_t tokens, std::uint32_t dim, std::uint32_t box_tokens) {
  TensorMapDescription map;
  map.type = TensorMapDescription::Type::fp16;  // as the publisher has it: the map only moves bytes
  map.swizzle = TensorMapDescription::Swizzle::bytes128;
  map.rank = 4;
  map.address = address;
  map.sizes = {dim, tokens, heads, batch, 1};
  const std::uint64_t row = std::uint64_t{dim} * 2;
  map.strides_bytes = {row, row * tokens, row * tokens * heads, 0};
  map.box = {64, box_tokens, 1, 1, 1};
  return {ok(encode_tensor_map(device, map))};
}

TEST_CASE("Causal attention of the frontend of cuDNN agrees with float64") {
  const PublishedSources sources("cudnn", "cudnn_frontend-1.28.0.manifest.json");
  if (sources.session == nullptr) return;
  for (const std::uint32_t dim : {64U, 128U}) {
    CAPTURE(dim);
    constexpr std::uint32_t kBatch = 2;
    constexpr std::uint32_t kHeadsQ = 6;
    constexpr std::uint32_t kHeadsKv = 2;
    constexpr std::uint32_t kTokens = 333;  // no multiple of a tile
    constexpr std::uint32_t kTileM = 64;
    constexpr std::uint32_t kTileN = 128;
    const std::vector<std::uint16_t> q = random_bf16(std::size_t{kBatch} * kHeadsQ * kTokens * dim, 1);
    const std::vector<std::uint16_t> k = random_bf16(std::size_t{kBatch} * kHeadsKv * kTokens * dim, 2);
    const std::vector<std::uint16_t> v = random_bf16(k.size(), 3);
    const auto& device = sources.device;
    const DeviceBuffer q_buffer = ok(DeviceBuffer::copy_of(device, q));
    const DeviceBuffer k_buffer = ok(DeviceBuffer::copy_of(device, k));
    const DeviceBuffer v_buffer = ok(DeviceBuffer::copy_of(device, v));
    const DeviceBuffer o_buffer = ok(DeviceBuffer::zeroed(device, q.size() * 2));
    const std::size_t rows = std::size_t{kBatch} * kHeadsQ * kTokens;
    const DeviceBuffer maxima_buffer = ok(DeviceBuffer::zeroed(device, rows * sizeof(float)));
    const DeviceBuffer sums_buffer = ok(DeviceBuffer::zeroed(device, rows * sizeof(float)));
    const DeviceBuffer counter = ok(DeviceBuffer::zeroed(device, 16));

    CudnnAttention attention{kBatch, kHeadsQ, kHeadsKv, kHeadsKv, kTokens, kTokens, dim, dim, 3, 3, 3};
    const std::uint32_t tiles = (kTokens + 2 * kTileM - 1) / (2 * kTileM);
    const std::uint32_t all_tiles = kBatch * kHeadsQ * tiles;
    CudnnTensor statistics{3, {kBatch, kHeadsQ, kTokens}, {kHeadsQ * kTokens, kTokens, 1}};
    const float scale = 1.0F / std::sqrt(static_cast<float>(dim));
    const Function kernel =
        sources.function(dim == 64 ? "cudnn_sdpa_sm90_prefill_d64" : "cudnn_sdpa_sm90_prefill_d128");
    const Stream stream = ok(Stream::create(device));
    LaunchConfig config;
    config.grid = {std::min(all_tiles, static_cast<std::uint32_t>(device->properties().multiprocessors)), 1,
                   1};
    config.stream = stream.handle();
    ok(kernel.launch(
        config, attention, static_cast<std::int32_t>(all_tiles), divisor(kHeadsQ * tiles), divisor(tiles),
        counter.address(), map_of(*device, q_buffer.address(), kBatch, kHeadsQ, kTokens, dim, 2 * kTileM),
        map_of(*device, k_buffer.address(), kBatch, kHeadsKv, kTokens, dim, kTileN), scale,
        -std::numeric_limits<float>::infinity(), maxima_buffer.address(), statistics, sums_buffer.address(),
        statistics, map_of(*device, v_buffer.address(), kBatch, kHeadsKv, kTokens, dim, kTileN),
        map_of(*device, o_buffer.address(), kBatch, kHeadsQ, kTokens, dim, 16)));
    ok(stream.synchronize());
    std::vector<std::uint16_t> o(q.size());
    std::vector<float> maxima(rows);
    std::vector<float> sums(rows);
    ok(o_buffer.copy_to(o));
    ok(maxima_buffer.copy_to(maxima));
    ok(sums_buffer.copy_to(sums));

    Difference difference;
    Difference lse_difference;
    for (std::size_t head = 0; head < std::size_t{kBatch} * kHeadsQ; ++head) {
      const std::size_t kv_head = head / kHeadsQ * kHeadsKv + head % kHeadsQ / 3;
      for (std::size_t row = 0; row < kTokens; ++row) {
        const std::uint16_t* query = q.data() + (head * kTokens + row) * dim;
        std::vector<double> scores(row + 1);
        for (std::size_t token = 0; token <= row; ++token) {
          const std::uint16_t* key = k.data() + (kv_head * kTokens + token) * dim;
          for (std::size_t i = 0; i < dim; ++i)
            scores[token] += value_of(query[i]) * value_of(key[i]) * static_cast<double>(scale);
        }
        const double maximum = *std::max_element(scores.begin(), scores.end());
        double sum = 0;
        std::vector<double> out(dim);
        for (std::size_t token = 0; token <= row; ++token) {
          const double weight = std::exp(scores[token] - maximum);
          sum += weight;
          const std::uint16_t* value = v.data() + (kv_head * kTokens + token) * dim;
          for (std::size_t i = 0; i < dim; ++i)
            out[i] += weight * value_of(value[i]);
        }
        for (std::size_t i = 0; i < dim; ++i)
          difference.add(value_of(o[(head * kTokens + row) * dim + i]), out[i] / sum);
        const std::size_t at = head * kTokens + row;
        lse_difference.add(static_cast<double>(maxima[at]) + std::log(static_cast<double>(sums[at])),
                           maximum + std::log(sum));
      }
    }
    MESSAGE("head dim " << dim << ": relative difference of O " << difference.relative()
                        << ", of the log-sum-exp " << lse_difference.relative());
    CHECK(difference.relative() < 0.006);  // P is rounded to bf16, and so is O
    CHECK(lse_difference.relative() < 1e-4);
  }
}

}  // namespace
}  // namespace cubinet
