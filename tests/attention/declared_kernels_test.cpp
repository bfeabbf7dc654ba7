// SPDX-License-Identifier: Apache-2.0
#include "templates/declared_kernels.hpp"

#include "support/ok.hpp"

#include <doctest/doctest.h>

#include <thread>

namespace cubinet {
namespace {

using test::ok;

KernelSpec decode(int stages) {
  return KernelSpec{"attention_decode", {}}
      .set("head_dim_qk", 128)
      .set("head_dim_v", 128)
      .set("stages", stages);
}

TEST_CASE("a kernel is evaluated once and equals what its template declares") {
  const DeclaredKernels declared(ok(TemplateCatalog::builtin()));
  const auto kernel = ok(declared.find(decode(2)));
  const auto kernel_template = ok(declared.catalog().find("attention_decode"));
  CHECK(kernel->spec == ok(kernel_template->resolve(decode(2))));
  CHECK(kernel->row.selector == ok(kernel_template->row(kernel->spec))->selector);
  CHECK(kernel->entry_points.front().name == "attention_decode");
  CHECK(ok(declared.find(decode(2))) == kernel);
  CHECK(ok(declared.find(decode(3))) != kernel);
  CHECK(declared.size() == 2);
}

TEST_CASE("what a template refuses is refused each time, with its reason") {
  const DeclaredKernels declared(ok(TemplateCatalog::builtin()));
  for (int i = 0; i < 2; ++i) {
    const auto refused = declared.find(decode(99));
    REQUIRE_FALSE(refused);
    CHECK(refused.error().message.find("stages") != std::string::npos);
    CHECK_FALSE(declared.find(KernelSpec{"nothing", {}}));
  }
}

TEST_CASE("threads that ask for the same kernels get the same declarations") {
  const DeclaredKernels declared(ok(TemplateCatalog::builtin()));
  constexpr int kKernels = 5;  // 2 to 6 stages
  std::vector<std::vector<std::shared_ptr<const DeclaredKernel>>> found(8);
  std::vector<std::thread> threads;
  for (auto& kernels : found) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20 * kKernels; ++i) {
        const auto kernel = declared.find(decode(2 + i % kKernels));
        if (kernel) kernels.push_back(*kernel);
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  CHECK(declared.size() == kKernels);
  for (const auto& kernels : found) {
    REQUIRE(kernels.size() == 20 * kKernels);
    CHECK(kernels.back()->row.selector == found.front().back()->row.selector);
  }
}

TEST_CASE("neither unknown templates nor long specifications are kept") {
  const DeclaredKernels declared(ok(TemplateCatalog::builtin()));
  CHECK_FALSE(declared.find(KernelSpec{"nothing", {}}));
  CHECK_FALSE(declared.find(decode(2).set("dtype_q", std::string(DeclaredKernels::kLongestEncoding, 'x'))));
  CHECK(declared.size() == 0);
  CHECK_FALSE(declared.find(decode(99)));
  CHECK(declared.size() == 1);
}

TEST_CASE("a full memory evaluates further kernels and keeps none of them") {
  const DeclaredKernels declared(ok(TemplateCatalog::builtin()));
  for (int hidden = 0; hidden < static_cast<int>(DeclaredKernels::kMaximum); ++hidden)
    CHECK_FALSE(declared.find(decode(100 + hidden)));
  CHECK(declared.size() == DeclaredKernels::kMaximum);
  CHECK(declared.find(decode(2)));
  CHECK(declared.size() == DeclaredKernels::kMaximum);
}

}  // namespace
}  // namespace cubinet
