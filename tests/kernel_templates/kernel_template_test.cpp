// SPDX-License-Identifier: Apache-2.0
#include "kernel_templates/sample_template.hpp"

#include <cubinet/kernel_templates/kernel_template.hpp>

#include <doctest/doctest.h>

using namespace cubinet;

namespace {

std::shared_ptr<const KernelTemplate> parsed(const std::string& source = test::kSampleSource) {
  auto kernel_template = KernelTemplate::parse(source, "test.cu");
  REQUIRE_MESSAGE(kernel_template, kernel_template.error().message);
  return *kernel_template;
}

KernelSpec sample(int head_dim = 128) {
  return KernelSpec{"sample", {}}.set("head_dim", head_dim);
}

void refused(const KernelSpec& spec, std::string_view reason, std::string_view remedy) {
  const auto resolved = parsed()->resolve(spec);
  REQUIRE_FALSE(resolved);
  CHECK(resolved.error().code == ErrorCode::invalid_argument);
  CHECK_MESSAGE(resolved.error().message.find(reason) != std::string::npos, resolved.error().message);
  CHECK_MESSAGE(resolved.error().remedy.find(remedy) != std::string::npos, resolved.error().remedy);
}

std::string one_kernel(const std::string& minimum, const std::string& kernel) {
  return R"(/* cubinet-template {"name": "t", "interface": 1, "minimum_target": ")" + minimum +
         R"(", "parameters": [{"name": "n", "type": "int", "default": 1}], "kernels": [{"name": "k", )" +
         kernel + "}]} */";
}

bool allows(const std::string& source, const char* target) {
  const auto kernel_template = parsed(source);
  const auto resolved = kernel_template->resolve(KernelSpec{"t", {}});
  REQUIRE(resolved);
  const auto checked = kernel_template->check_target(*resolved, *SmTarget::parse(target));
  if (!checked) CHECK(checked.error().code == ErrorCode::unsupported);
  return checked.has_value();
}

}  // namespace

TEST_CASE("defaults are filled in and a resolved specification resolves to itself") {
  const auto kernel_template = parsed();
  const auto resolved = kernel_template->resolve(sample());
  REQUIRE(resolved);
  CHECK(resolved->to_string() ==
        "sample(dtype_kv=bf16, dtype_q=bf16, head_dim=128, mask=causal, rows=64, window=false)");
  CHECK(*kernel_template->resolve(*resolved) == *resolved);
  CHECK(identify(*resolved, *SmTarget::parse("sm_90a")) ==
        identify(*kernel_template->resolve(sample().set("rows", 64)), *SmTarget::parse("sm_90a")));
}

TEST_CASE("a specification outside the declaration is refused with the parameter and what it allows") {
  refused(KernelSpec{"sample", {}}, "parameter 'head_dim' is missing", "one of 64, 128, 256");
  refused(sample(96), "parameter 'head_dim' cannot be 96", "one of 64, 128, 256");
  refused(sample().set("rows", 100), "parameter 'rows' cannot be 100", "8 to 4096, a multiple of 8");
  refused(sample().set("rows", 4104), "parameter 'rows' cannot be 4104", "8 to 4096");
  refused(sample().set("head_dmi", 1), "has no parameter 'head_dmi'", "it has head_dim,");
  refused(sample().set("mask", "Causal"), "parameter 'mask' cannot be 'Causal'", "one of causal, dense");
  refused(sample().set("head_dim", "128"), "which is no int", "one of 64");
  refused(sample().set("dtype_q", "e4m3"), "parameter 'dtype_q' cannot be 'e4m3'", "one of bf16, fp16, fp32");
  refused(KernelSpec{"other", {}}, "'other' was given to the template 'sample'", "");
}

TEST_CASE("a broken constraint gives its message and the values that it names") {
  const auto resolved = parsed()->resolve(sample().set("dtype_q", "fp16"));
  REQUIRE_FALSE(resolved);
  CHECK(resolved.error().message ==
        "template 'sample': dtype_kv must be the same as dtype_q (dtype_q = fp16, dtype_kv = bf16)");
  CHECK(resolved.error().remedy == "required: dtype_q == dtype_kv");
  refused(sample().set("window", true).set("mask", "dense"), "(window = true, mask = dense)", "required:");
}

TEST_CASE("constraints are told as sentences") {
  CHECK(parsed()->constraints() ==
        std::vector<std::string>{"dtype_kv must be the same as dtype_q", "a window needs mask causal"});
}

TEST_CASE("entry points carry what a launch needs") {
  const auto kernel_template = parsed();
  const auto resolved = kernel_template->resolve(sample(64).set("window", true));
  REQUIRE(resolved);
  const auto entries = kernel_template->entry_points(*resolved);
  REQUIRE(entries);
  REQUIRE(entries->size() == 2);
  const EntryPoint& first = (*entries)[0];
  CHECK(first.name == "sample");
  CHECK(first.symbol == "sample");
  CHECK(first.threads == 128);
  CHECK(first.dynamic_shared_bytes == 64 * 64 * 2);
  CHECK(first.parameter_bytes == 24);
  CHECK(first.cluster == std::array<std::uint32_t, 3>{2, 1, 2});
  CHECK(first.programmatic_launch);
  CHECK((*entries)[1].symbol.empty());
  CHECK((*entries)[1].cooperative);
  CHECK(kernel_template->symbol_expressions() ==
        std::vector<std::string>{"", "my::reduce<cubinet::parameters::head_dim>"});
}

TEST_CASE("a formula that cannot be computed or gives no quantity is an error of the specification") {
  const auto kernel_template =
      parsed(one_kernel("sm_80", R"("threads": "64 / n", "dynamic_shared_bytes": "n * n")"));
  const auto with = [&](std::int64_t n) { return kernel_template->resolve(KernelSpec{"t", {}}.set("n", n)); };
  CHECK(with(64));
  CHECK(with(0).error().message.find("division by zero") != std::string::npos);
  CHECK(with(65).error().message.find("threads: '64 / n' is 0 (n = 65)") != std::string::npos);
  CHECK(with(-1).error().message.find("is -64") != std::string::npos);
  CHECK(with(INT64_MAX).error().code == ErrorCode::invalid_argument);
}

TEST_CASE("a target below the minimum is unsupported") {
  const std::string baseline = one_kernel("sm_86", R"("threads": 32)");
  for (const char* target : {"sm_86", "sm_89", "sm_90", "sm_90a", "sm_120f"})
    CHECK_MESSAGE(allows(baseline, target), target);
  for (const char* target : {"sm_75", "sm_80"})
    CHECK_MESSAGE(!allows(baseline, target), target);
  const std::string specific = one_kernel("sm_90a", R"("threads": 32)");
  CHECK(allows(specific, "sm_90a"));
  for (const char* target : {"sm_90", "sm_100a", "sm_100f"})
    CHECK_MESSAGE(!allows(specific, target), target);
  const std::string family = one_kernel("sm_100f", R"("threads": 32)");
  for (const char* target : {"sm_100f", "sm_100a", "sm_103f", "sm_103a"})
    CHECK_MESSAGE(allows(family, target), target);
  for (const char* target : {"sm_100", "sm_103", "sm_110f", "sm_120a", "sm_90a"}) {
    CHECK_MESSAGE(!allows(family, target), target);
  }
}

TEST_CASE("a kernel that no device of the target could launch is refused by name and number") {
  const auto shared = [](const char* bytes) {
    return one_kernel("sm_75", R"("threads": 32, "dynamic_shared_bytes": )" + std::string(bytes));
  };
  // 99 KiB and 163 KiB and 227 KiB, the limits of 8.6, 8.0 and 9.0.
  CHECK(allows(shared("101376"), "sm_86"));
  CHECK_FALSE(allows(shared("101377"), "sm_86"));
  CHECK_FALSE(allows(shared("101377"), "sm_120f"));
  CHECK(allows(shared("166912"), "sm_80"));
  CHECK_FALSE(allows(shared("166913"), "sm_80"));
  CHECK(allows(shared("232448"), "sm_90a"));
  CHECK_FALSE(allows(shared("232449"), "sm_90a"));
  CHECK(allows(one_kernel("sm_75", R"("threads": 1024)"), "sm_90"));
  CHECK_FALSE(allows(one_kernel("sm_75", R"("threads": 1025)"), "sm_90"));
  CHECK_FALSE(allows(one_kernel("sm_75", R"("threads": 32, "cluster": [2, 1, 1])"), "sm_89"));
  CHECK(allows(one_kernel("sm_75", R"("threads": 32, "cluster": [16, 1, 1])"), "sm_90"));
  CHECK_FALSE(allows(one_kernel("sm_75", R"("threads": 32, "cluster": [16, 2, 1])"), "sm_90"));
  CHECK_FALSE(
      allows(one_kernel("sm_75", R"("threads": 32, "cluster": [2147483647, 2147483647, 4])"), "sm_90"));

  const auto kernel_template = parsed(shared("101377"));
  const auto checked = kernel_template->check_target(*kernel_template->resolve(KernelSpec{"t", {}}),
                                                     *SmTarget::parse("sm_86"));
  CHECK(checked.error().message.find("'k' needs 101377 bytes of shared memory") != std::string::npos);
  CHECK(checked.error().message.find("101376") != std::string::npos);
}

TEST_CASE("an incomplete specification is an error where a complete one is required") {
  const auto kernel_template = parsed();
  CHECK_FALSE(kernel_template->entry_points(KernelSpec{"sample", {}}));
  CHECK_FALSE(kernel_template->parameters_header(sample()));
}

TEST_CASE("a default is computed from what the caller gave, and judged as if the caller had given it") {
  const auto kernel_template = parsed(R"(/* cubinet-template {"name": "t", "interface": 1, "parameters": [
    {"name": "n", "type": "int"}, {"name": "m", "type": "int", "values": [1, 2, 4], "default_expression": "n / 8"},
    {"name": "o", "type": "int", "default_expression": "m * 100"}], "kernels": [{"name": "k", "threads": "n"}]} */)");
  const auto resolved = [&](const KernelSpec& spec) { return kernel_template->resolve(spec); };
  CHECK(resolved(KernelSpec{"t", {}}.set("n", 16))->to_string() == "t(m=2, n=16, o=200)");
  CHECK(resolved(KernelSpec{"t", {}}.set("n", 16).set("m", 4))->to_string() == "t(m=4, n=16, o=400)");
  const auto refused_default = resolved(KernelSpec{"t", {}}.set("n", 24));
  REQUIRE_FALSE(refused_default);
  CHECK(refused_default.error().message ==
        "template 't': the default of 'm', n / 8 (n = 24): parameter 'm' cannot be 3");
  CHECK(refused_default.error().remedy == "m is one of 1, 2, 4");
}

TEST_CASE("equal values of other spellings are one specification") {
  const auto kernel_template = parsed(R"(/* cubinet-template {"name": "t", "interface": 1, "parameters": [
    {"name": "f", "type": "float"}, {"name": "t", "type": "type"}, {"name": "l", "type": "float[]"}],
    "kernels": [{"name": "k", "threads": 1}]} */)");
  const auto resolved = kernel_template->resolve(
      KernelSpec{"t", {}}.set("f", 0.1).set("t", "A < int >").set("l", std::vector<std::int64_t>{0, 1}));
  REQUIRE_MESSAGE(resolved.has_value(), resolved.error().message);
  CHECK(*resolved ==
        *kernel_template->resolve(
            KernelSpec{"t", {}}.set("f", 0.1F).set("t", "A<int>").set("l", std::vector<double>{-0.0, 1})));
}

TEST_CASE("a macro that is a parameter is not said to the compiler besides") {
  const auto kernel_template = parsed(R"(/* cubinet-template {"name": "t", "interface": 1, "parameters": [
    {"name": "n", "type": "int", "macro": "N", "default": 1}], "kernels": [{"name": "k", "threads": 1}]} */)");
  KernelSpec spec{"t", {}};
  spec.options = {{"D:M", "1"}};
  CHECK(kernel_template->resolve(spec));
  for (const char* option : {"D:N", "U:N", "D:N(x)"}) {
    spec.options = {{option, "1"}};
    const auto resolved = kernel_template->resolve(spec);
    REQUIRE_FALSE(resolved);
    CHECK(resolved.error().message.find("the macro 'N' is its parameter 'n'") != std::string::npos);
  }
}

TEST_CASE("a source that is declared beside it includes the generated header before its first line") {
  const std::string declaration =
      R"({"name": "t", "interface": 1, "kernels": [{"name": "k", "threads": 1}]})";
  for (const char* source : {"int x;\n", "\xef\xbb\xbfint x;\n"}) {
    const auto kernel_template = KernelTemplate::parse(source, "t.cubinet.json", "/f", declaration);
    REQUIRE(kernel_template);
    CHECK((*kernel_template)->source() == "#include <cubinet/parameters.cuh>\n#line 1\nint x;\n");
    CHECK((*kernel_template)->folder() == "/f");
  }
}

TEST_CASE("a block has up to three dimensions, and its limits are those of all devices") {
  const auto with_threads = [](const std::string& threads) {
    return parsed(one_kernel("sm_80", "\"threads\": " + threads));
  };
  const auto block = [&](const std::string& threads) {
    const auto kernel_template = with_threads(threads);
    return kernel_template->entry_points(*kernel_template->resolve(KernelSpec{"t", {}}.set("n", 4)))
        ->front()
        .block();
  };
  using Block = std::array<std::uint32_t, 3>;
  CHECK(block("\"n * 8\"") == Block{32, 1, 1});
  CHECK(block("[32]") == Block{32, 1, 1});
  CHECK(block("[\"n\", 2]") == Block{4, 2, 1});
  CHECK(block("[16, \"n\", \"n / 2\"]") == Block{16, 4, 2});
  const auto kernel_template = with_threads("[16, \"n\", 2]");
  CHECK(kernel_template->parameters_header(*kernel_template->resolve(KernelSpec{"t", {}}))
            ->find("constexpr unsigned k_threads = 32;\nconstexpr unsigned k_threads_x = 16;\n"
                   "constexpr unsigned k_threads_y = 1;\nconstexpr unsigned k_threads_z = 2;\n") !=
        std::string::npos);
  CHECK_FALSE(kernel_template->resolve(KernelSpec{"t", {}}.set("n", 0)));
  const auto fits = [&](const std::string& threads) {
    const auto of = with_threads(threads);
    return of->check_target(*of->resolve(KernelSpec{"t", {}}), *SmTarget::parse("sm_90a")).has_value();
  };
  CHECK(fits("[4, 4, 64]"));
  CHECK_FALSE(fits("[1, 1, 65]"));
  CHECK_FALSE(fits("[32, 33]"));
  CHECK_FALSE(fits("[2147483647, 2147483647, 2147483647]"));
  for (const char* wrong : {"[]", "[1, 2, 3, 4]", "[[1]]", "[true]"})
    CHECK_FALSE(KernelTemplate::parse(one_kernel("sm_80", std::string("\"threads\": ") + wrong), "f"));
}

TEST_CASE("a declaration names further sources and libraries, whose texts the caller reads") {
  const std::string declaration = R"({"name": "t", "interface": 1, "sources": ["more.cu"],
      "libraries": ["cudadevrt", "mine.fatbin"],
      "parameters": [{"name": "p", "type": "int", "macro": "P", "default": 64}],
      "kernels": [{"name": "k", "threads": "p"},
                  {"name": "m", "threads": 32, "source": "more.cu", "symbol_expression": "m<P>"}]})";
  const auto read_source = [](const std::string& name) -> Result<std::string> { return "// P " + name; };
  const auto made = KernelTemplate::parse("int x;\n", "t.cubinet.json", "/f", declaration, read_source);
  REQUIRE_MESSAGE(made.has_value(), made.error().message);
  const KernelTemplate& kernel_template = **made;
  CHECK(kernel_template.unused_words().empty());
  CHECK(kernel_template.libraries() == std::vector<std::string>{"cudadevrt", "mine.fatbin"});
  REQUIRE(kernel_template.linked_sources().size() == 1);
  const KernelTemplate& more = *kernel_template.linked_sources().front();
  CHECK(more.name() == "more");
  CHECK(more.folder() == "/f");
  CHECK(more.source() == "#include <cubinet/parameters.cuh>\n#line 1\n// P more.cu");
  const auto resolved = kernel_template.resolve(KernelSpec{"t", {}});
  REQUIRE(resolved);
  CHECK(resolved->to_string() == "t(p=64) --relocatable-device-code=true");
  // Each source has its own kernels; the header has the figures of all.
  CHECK(kernel_template.entry_points(*resolved)->size() == 1);
  CHECK(kernel_template.symbol_expressions() == std::vector<std::string>{""});
  CHECK(more.entry_points(*resolved)->front().name == "m");
  CHECK(more.symbol_expressions() == std::vector<std::string>{"m<P>"});
  CHECK(kernel_template.parameters_header(*resolved)->find("m_threads = 32;") != std::string::npos);
}

TEST_CASE("a further source is a file beside the declaration, and has to be there") {
  const auto refused = [](const char* word, const std::string& members, bool is_there = true) {
    const auto read_source = [&](const std::string& name) -> Result<std::string> {
      if (is_there) return std::string("// more");
      return Error{ErrorCode::io, "there is no '" + name + "'"};
    };
    const auto made = KernelTemplate::parse("", "t.cubinet.json", "",
                                            R"({"name": "t", "interface": 1, "kernels": [{"name": "k",
                                                "threads": 1}], )" +
                                                members + "}",
                                            read_source);
    REQUIRE_FALSE(made);
    CHECK_MESSAGE(made.error().message.find(word) != std::string::npos, made.error().message);
  };
  refused("t.cubinet.json: the source 'm.cu': there is no 'm.cu'", R"("sources": ["m.cu"])", false);
  refused("holds no folder", R"("sources": ["a/m.cu"])");
  refused("holds no folder", R"("sources": [".cu"])");
  refused("ends with .cu", R"("sources": ["m.cpp"])");
  refused("named twice, or as the template", R"("sources": ["m.cu", "m.cu"])");
  refused("named twice, or as the template", R"("sources": ["t.cu"])");
  refused("as text", R"("sources": [1])");
  refused("with its folder", R"("libraries": ["/usr/lib/libm.a"])");
  const auto nobody = KernelTemplate::parse(
      "", "t.cubinet.json", "",
      R"({"name": "t", "interface": 1, "sources": ["m.cu"], "kernels": [{"name": "k", "threads": 1}]})");
  CHECK_FALSE(nobody);
  const auto elsewhere = KernelTemplate::parse(
      "", "t.cubinet.json", "",
      R"({"name": "t", "interface": 1, "kernels": [{"name": "k", "threads": 1, "source": "m.cu"}]})");
  REQUIRE_FALSE(elsewhere);
  CHECK(elsewhere.error().message.find("none of the declaration's 'sources'") != std::string::npos);
}
