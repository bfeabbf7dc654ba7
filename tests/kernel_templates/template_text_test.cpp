// SPDX-License-Identifier: Apache-2.0
#include "support/ok.hpp"

#include <cubinet/kernel_templates/source_program.hpp>
#include <cubinet/kernel_templates/template_catalog.hpp>

#include <doctest/doctest.h>

namespace cubinet {
namespace {

using test::ok;

Sha256Digest digest_of(SourceProgram program) {
  return ok(program.as_template())->text_digest();
}

SourceProgram program_of(std::string text) {
  SourceProgram program;
  program.name = "source";
  program.text = std::move(text);
  program.kernels = {"k"};
  return program;
}

TEST_CASE("a digest of a text covers source, base and the headers of the library that it includes") {
  const auto one = ok(ok(TemplateCatalog::builtin()).find("attention_decode"));
  CHECK(one->text_digest() == ok(ok(TemplateCatalog::builtin()).find("attention_decode"))->text_digest());
  const auto changed = [&](const std::string& more_source, const std::string& more_base) {
    return ok(KernelTemplate::parse(
                  one->source() + more_source, "other.cu", {}, {},
                  [&](const std::string&) -> Result<std::string> { return one->base().text + more_base; }))
        ->text_digest();
  };
  CHECK(changed("", "") == one->text_digest());
  CHECK(changed("\n", "") != one->text_digest());
  CHECK(changed("", "\n") != one->text_digest());
  CHECK(changed("#include <cubinet/wgmma.cuh>", "") != changed("#include <cubinet/cluster.cuh>", ""));
}

TEST_CASE("a digest of a source covers its headers, preludes and linked sources") {
  const std::string text = "extern \"C\" __global__ void k(int* p) { *p = 1; }\n";
  const Sha256Digest plain = digest_of(program_of(text));
  CHECK(plain == digest_of(program_of(text)));
  CHECK(plain != digest_of(program_of(text + "\n")));
  SourceProgram with_header = program_of(text);
  with_header.headers["mine.cuh"] = "#define A 1";
  const Sha256Digest header = digest_of(with_header);
  with_header.headers["mine.cuh"] = "#define A 2";
  CHECK(header != digest_of(with_header));
  CHECK(header != plain);
  SourceProgram with_prelude = program_of(text);
  with_prelude.preludes = {{"first.cuh", "#define B 1", ""}};
  CHECK(digest_of(with_prelude) != plain);
  SourceProgram linked = program_of(text);
  linked.sources = {program_of("extern \"C\" __global__ void k2(int* p) { *p = 2; }\n")};
  linked.sources[0].name = "more";
  linked.sources[0].kernels = {"k2"};
  const Sha256Digest two = digest_of(linked);
  linked.sources[0].text += "\n";
  CHECK(two != digest_of(linked));
  CHECK(two != plain);
}

}  // namespace
}  // namespace cubinet
