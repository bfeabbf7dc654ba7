// SPDX-License-Identifier: Apache-2.0
#include "templates/prefill/prefill_costs.hpp"

#include <doctest/doctest.h>

namespace cubinet {
namespace {

constexpr ProductCosts kProducts = {2e6, 8e6, 16e6, 1e6, 1.25, 1.125, 0.5, 3, 1, 4, 1e6, 1e3, "a test"};

KernelWork tall_tiles(double tiles) {
  KernelWork work;
  work.cost_class = CostClass::products;
  work.multiprocessors = 10;
  work.tile_size_q = 128;
  work.warps = 8;
  work.blocks = tiles;
  work.largest_block_operations = 2e6;
  work.operations = tiles * 2e6;
  return work;
}

TEST_CASE("the time of products follows the operations once every multiprocessor has a tile") {
  const double few = product_terms(kProducts, tall_tiles(10)).read;
  CHECK(few == doctest::Approx(1));
  CHECK(product_terms(kProducts, tall_tiles(5)).read == doctest::Approx(few));
  CHECK(product_terms(kProducts, tall_tiles(1000)).read == doctest::Approx(100));
}

TEST_CASE("one tile that is longer than its share bounds the time") {
  KernelWork work = tall_tiles(20);
  work.largest_block_operations = 20e6;
  CHECK(product_terms(kProducts, work).read == doctest::Approx(10));
}

TEST_CASE("the SM that ends last is waited for, with its tiles") {
  KernelWork work = tall_tiles(20);
  const CostTerms shared = product_terms(kProducts, work);
  work.busiest_operations = 1e6;
  work.work_items = 2;
  CHECK(product_terms(kProducts, work).sum() == doctest::Approx(shared.sum()));
  work.busiest_operations = 10e6;
  work.work_items = 3;
  const CostTerms waited = product_terms(kProducts, work);
  CHECK(waited.read == doctest::Approx(5));
  CHECK(waited.items == doctest::Approx(3));
}

TEST_CASE("KV takes the time in which it is read from memory, if its products take less") {
  KernelWork work = tall_tiles(20);
  const double of_products = product_terms(kProducts, work).read;
  work.bytes = 1e4;
  CHECK(product_terms(kProducts, work).read == doctest::Approx(of_products));
  work.bytes = 1e6;  // by ten SMs
  CHECK(product_terms(kProducts, work).read == doctest::Approx(100));
}

TEST_CASE("small tiles have a lower rate, and four warps alone reach a part of it") {
  KernelWork work = tall_tiles(1000);
  work.tile_size_q = 64;
  CHECK(product_terms(kProducts, work).read == doctest::Approx(200));
  work.warps = 4;
  CHECK(product_terms(kProducts, work).read == doctest::Approx(200 / 0.75));
  work.blocks_per_multiprocessor = 2;
  CHECK(product_terms(kProducts, work).read == doctest::Approx(200));
}

TEST_CASE("tiles of equal size that SMs cannot share equally take whole rounds") {
  KernelWork work = tall_tiles(11);
  CHECK(product_terms(kProducts, work).read == doctest::Approx(1.1));
  work.smallest_block_operations = 2e6;
  CHECK(product_terms(kProducts, work).read == doctest::Approx(2));
}

TEST_CASE(
    "warpgroups have rates of their own for 16 and 8 bits, and partial results are written, read and "
    "combined") {
  KernelWork work = tall_tiles(1000);
  work.reader = KvReader::warpgroups;
  CHECK(product_terms(kProducts, work).read == doctest::Approx(25));
  work.element_bits = 8;
  CHECK(product_terms(kProducts, work).read == doctest::Approx(12.5));
  work.partial_bytes = 5e6;
  CHECK(product_terms(kProducts, work).combine == 0);
  work.splits = 2;
  CHECK(product_terms(kProducts, work).combine == doctest::Approx(14));
}

TEST_CASE("no tile takes no more than the start") {
  CHECK(product_terms(kProducts, tall_tiles(0)).sum() == doctest::Approx(3));
}

}  // namespace
}  // namespace cubinet
