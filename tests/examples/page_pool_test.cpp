// SPDX-License-Identifier: Apache-2.0
#include "serving_loop/page_pool.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace serving_loop;

TEST_CASE("published pages are shared up to the first token that differs") {
  PagePool pool(4, 2);
  const std::vector<Token> tokens = {1, 2, 3, 4, 5};
  const std::vector<PageIndex> pages = {pool.take(), pool.take()};
  CHECK(pool.share(tokens).empty());
  pool.publish(pages[0], std::span(tokens).first(2));
  pool.publish(pages[1], std::span(tokens).first(4));
  CHECK(pool.share(tokens) == pages);
  CHECK(pool.share(std::vector<Token>{1, 2, 3, 9}) == std::vector{pages[0]});
  CHECK(pool.share(std::vector<Token>{1}).empty());
  CHECK(pool.share(std::vector<Token>{3, 4}).empty());
  CHECK(pool.unused() == 2);
}

TEST_CASE("a page is unused when each of its sequences has released it, and keeps its content") {
  PagePool pool(2, 1);
  const std::vector<Token> tokens = {7};
  const PageIndex page = pool.take();
  pool.publish(page, tokens);
  const std::vector<PageIndex> shared = pool.share(tokens);
  pool.release(shared);
  CHECK(pool.unused() == 1);
  pool.release(shared);
  CHECK(pool.unused() == 2);
  CHECK(pool.share(tokens) == std::vector{page});
  CHECK(pool.unused() == 1);
}

TEST_CASE("pages that were never used are taken first, then the last pages of old sequences") {
  PagePool pool(3, 1);
  const std::vector<Token> tokens = {7, 8};
  const std::vector<PageIndex> pages = {pool.take(), pool.take()};
  pool.publish(pages[0], std::span(tokens).first(1));
  pool.publish(pages[1], tokens);
  pool.release(pages);
  const PageIndex fresh = pool.take();
  CHECK(fresh != pages[0]);
  CHECK(fresh != pages[1]);
  CHECK(pool.take() == pages[1]);
  CHECK(pool.share(tokens) == std::vector{pages[0]});
}

TEST_CASE("the second page with the same tokens is not published") {
  PagePool pool(2, 1);
  const std::vector<Token> tokens = {7};
  const PageIndex first = pool.take();
  const PageIndex second = pool.take();
  pool.publish(first, tokens);
  pool.publish(second, tokens);
  pool.release(std::vector{second});
  CHECK(pool.take() == second);
  CHECK(pool.share(tokens) == std::vector{first});
}
