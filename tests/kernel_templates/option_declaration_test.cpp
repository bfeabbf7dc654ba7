// SPDX-License-Identifier: Apache-2.0
#include "option_declaration.hpp"

#include <cubinet/spec/kernel_key.hpp>

#include <doctest/doctest.h>

using namespace cubinet;

namespace {

// Returns the source of a template with these options.
std::string with_options(const std::string& options) {
  return R"(/* cubinet-template {"name": "t", "interface": 1, "options": )" + options + R"(,
  "parameters": [{"name": "registers", "type": "int", "values": [0, 64, 128], "default": 64},
                 {"name": "fast", "type": "bool", "default": false},
                 {"name": "dtype", "type": "dtype", "values": ["bf16", "fp16"], "default": "bf16"},
                 {"name": "taps", "type": "int[]", "default": [1, 2, 3]},
                 {"name": "scale", "type": "float", "default": 0.5},
                 {"name": "size", "type": "int", "macro": "SIZE", "default": 4}],
  "kernels": [{"name": "t", "threads": "registers + size"}]} */
// fast dtype taps scale SIZE
extern "C" __global__ void t() {}
)";
}

std::shared_ptr<const KernelTemplate> template_with(const std::string& options) {
  auto kernel_template = KernelTemplate::parse(with_options(options), "t.cu");
  REQUIRE_MESSAGE(kernel_template, kernel_template.error().message);
  return *kernel_template;
}

KernelSpec with(const std::string& name, ParameterValue value) {
  KernelSpec spec{"t", {}};
  spec.set(name, std::move(value));
  return spec;
}

std::vector<std::string> flags_of(const std::string& options, const KernelSpec& spec = {"t", {}}) {
  const auto resolved = template_with(options)->resolve(spec);
  REQUIRE_MESSAGE(resolved, resolved.error().message);
  return compiler_flags(resolved->options);
}

std::string refusal(const std::string& options) {
  const auto kernel_template = KernelTemplate::parse(with_options(options), "t.cu");
  REQUIRE_FALSE(kernel_template);
  CHECK(kernel_template.error().code == ErrorCode::invalid_argument);
  return kernel_template.error().message;
}

bool refused_with(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

using Flags = std::vector<std::string>;

}  // namespace

TEST_CASE("the flags of a kernel have at most 1 MiB") {
  const KernelSpec spec = with("taps", std::vector<std::int64_t>(4'096, 1'000'000'000'000'000'000));
  const std::string ten = "{taps}{taps}{taps}{taps}{taps}{taps}{taps}{taps}{taps}{taps}";
  CHECK(flags_of("[\"-DA=" + ten + "\"]", spec).size() == 1);
  for (const std::string& options :
       {"[\"-DA=" + ten + ten + "\"]", "[\"-DA=" + ten + "\", \"-DB=" + ten + "\"]"}) {
    const auto resolved = template_with(options)->resolve(spec);
    REQUIRE_FALSE(resolved);
    CHECK(resolved.error().code == ErrorCode::invalid_argument);
    CHECK(refused_with(resolved.error().message, "more than 1 MiB"));
    CHECK(resolved.error().message.size() < 1'000);
  }
}

TEST_CASE("expressions in braces are replaced by their values") {
  CHECK(flags_of(R"(["--maxrregcount={registers}"])") == Flags{"--maxrregcount=64"});
  CHECK(flags_of(R"(["--maxrregcount={registers}"])", with("registers", 128)) == Flags{"--maxrregcount=128"});
  CHECK(flags_of(R"(["-DN={registers * 2}x{size}"])") == Flags{"-DN=128x4"});
  CHECK(flags_of(R"(["-DT={dtype}"])") == Flags{"-DT=bf16"});
  CHECK(flags_of(R"(["-DTAPS={taps}"])") == Flags{"-DTAPS=1,2,3"});
  CHECK(flags_of(R"(["-DSCALE={scale}"])") == Flags{"-DSCALE=0.5"});
  CHECK(flags_of(R"(["-DFAST={fast}"])") == Flags{"-DFAST=false"});
  CHECK(flags_of(R"(["-DS={fast ? 'yes' : 'no'}"])") == Flags{"-DS=no"});
  CHECK(flags_of(R"(["-DINIT={{1, {size}}}"])") == Flags{"-DINIT={1, 4}"});
  CHECK(flags_of(R"(["-D", "N={size}"])") == Flags{"-DN=4"});
}

TEST_CASE("a conditional option is added if its condition holds") {
  const char* options = R"([{"flag": "--use_fast_math", "if": "fast"}, {"flag": "-DK={size}", "if": "!fast"},
                            {"flag": "-DK=9", "if": "fast"}])";
  CHECK(flags_of(options) == Flags{"-DK=4"});
  CHECK(flags_of(options, with("fast", true)) == Flags{"-DK=9", "--use_fast_math"});
}

TEST_CASE("computed options are part of the identity, and options of a request replace them") {
  const auto kernel_template = template_with(R"(["--maxrregcount={registers}"])");
  const auto id_of = [&](const KernelSpec& spec) { return identify(*kernel_template->resolve(spec)); };
  CHECK_FALSE(id_of(with("registers", 128)) == id_of(with("registers", 64)));
  CHECK(id_of(with("registers", 64)) == id_of({"t", {}}));
  KernelSpec own = with("registers", 128);
  own.options = {{"maxrregcount", "32"}};
  CHECK(compiler_flags(kernel_template->resolve(own)->options) == Flags{"--maxrregcount=32"});
  // A resolved specification resolves to itself.
  const KernelSpec resolved = *kernel_template->resolve({"t", {}});
  CHECK(*kernel_template->resolve(resolved) == resolved);
}

TEST_CASE("wrong options are errors of the declaration, or of a specification if they depend on values") {
  CHECK(refused_with(refusal(R"(["-time=x"])"), "'options': "));
  CHECK(refused_with(refusal(R"(["-D{dtype}=1"])"), "has an expression in its name"));
  CHECK(refused_with(refusal(R"(["--maxrregcount={registers"])"), "has a '{' that nothing closes"));
  CHECK(refused_with(refusal(R"(["-DX=}"])"), "has a '}' that closes nothing"));
  CHECK(refused_with(refusal(R"(["-DX={nothing}"])"), "nothing"));
  CHECK(refused_with(refusal(R"(["-DX={1 +}"])"), "'options': '-DX={1 +}': "));
  CHECK(refused_with(refusal(R"([4])"), "a flag as text, or an object"));
  std::string many = "[\"-DN0\"";
  for (int i = 1; i <= 256; ++i)
    many += ", \"-DN" + std::to_string(i) + "\"";
  CHECK(refused_with(refusal(many + "]"), "at most 256 flags"));
  CHECK(refused_with(refusal(R"([{"flag": "-DX"}])"), "if"));
  CHECK(refused_with(refusal(R"([{"flag": "-DX", "if": "size"}])"), "'if' has to be"));
  CHECK(refused_with(refusal(R"([{"flag": "-DX", "if": "fast", "else": "-DY"}])"), "else"));
  CHECK(refused_with(refusal(R"([{"flag": "-DSIZE=3", "if": "fast"}])"), "the macro 'SIZE' of a parameter"));
  CHECK(refused_with(refusal(R"([{"flag": "-time={size}", "if": "fast"}])"), "'options': "));
  const auto kernel_template = template_with(R"(["--maxrregcount={128 / registers}"])");
  const auto refused = kernel_template->resolve(with("registers", 0));
  REQUIRE_FALSE(refused);
  CHECK(refused_with(refused.error().message, "template 't': "));
}

TEST_CASE("a parameter that only an option uses is used") {
  std::string source = with_options(R"(["-DT={dtype}", {"flag": "-DF", "if": "fast"}])");
  source.replace(source.find("// fast dtype taps"), 18, "// taps           ");
  const auto kernel_template = KernelTemplate::parse(source, "t.cu");
  REQUIRE(kernel_template);
  CHECK((*kernel_template)->unused_words().empty());
}
