// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "environment.hpp"
#include "store_fixture.hpp"

#include <cubinet/jit/prepared_request.hpp>

#include <atomic>
#include <string>

namespace cubinet::test {

// A compiler whose builds differ in one word. The word gives the fingerprint of its current build.
class FakeCompiler final : public Compiler {
 public:
  const std::string word = "today";
  bool can_tell = true;
  std::atomic<int> compilations{0};

  const CompilerCandidate& location() const override { return location_; }
  const std::string& identity() const override { return identity_; }
  Result<BuildFingerprint> fingerprint(const CompileRequest&) override { return today(); }
  Result<BuildFingerprint> fingerprint(const PreparedRequest&, SmTarget, ImageKind) override {
    return today();
  }
  Result<std::vector<SmTarget>> supported_targets() override {
    const auto known = known_targets();
    return std::vector<SmTarget>(known.begin(), known.end());
  }
  Result<std::vector<CompilerInput>> inputs(const CompileRequest&) override {
    return std::vector<CompilerInput>();
  }
  Result<CompileOutput> compile(const CompileRequest& request) override {
    ++compilations;
    CUBINET_TRY(today());
    ShelfBuild build{.spec = request.spec, .target = request.target, .word = word, .kind = request.kind};
    build.interface_version = request.kernel_template->interface_version();
    const Cubin cubin = build.make();
    return CompileOutput{*cubin.record, cubin.image, 0};
  }

 private:
  Result<BuildFingerprint> today() const {
    if (can_tell) return fingerprint_;
    return Error{ErrorCode::io, "a header cannot be read"};
  }

  const BuildFingerprint fingerprint_ = fake_fingerprint(word);
  CompilerCandidate location_;
  std::string identity_ = "compiler of the tests";
};

// An environment with this compiler, or without a compiler if there is none.
class FakeEnvironment final : public Environment {
 public:
  explicit FakeEnvironment(std::shared_ptr<FakeCompiler> compiler)
      : Environment({}, {}, {}), compiler_(std::move(compiler)) {}

  Result<std::shared_ptr<Compiler>> compiler() override {
    if (compiler_ == nullptr) return Error{ErrorCode::unavailable, "no compiler in this test"};
    return std::shared_ptr<Compiler>(compiler_);
  }

 private:
  std::shared_ptr<FakeCompiler> compiler_;
};

// Returns a catalog with one template of this interface version. The template takes two parameters
// and declares a row of the kernel table.
inline TemplateCatalog row_catalog(int interface_version = 1) {
  std::string source = R"(/* cubinet-template
{ "name": "scale", "interface": INTERFACE, "summary": "y = factor * x", "minimum_target": "sm_80",
  "parameters": [ {"name": "factor", "type": "int", "minimum": 1, "maximum": 1000, "summary": "the factor"},
                  {"name": "unroll", "type": "int", "values": [1, 2, 4], "default": 1, "summary": "unused"} ],
  "constraints": [], "row": {"kernel_type": "'keeps'", "head_dim_qk": 128, "head_dim_v": 128},
  "kernels": [ {"name": "scale", "threads": "128", "dynamic_shared_bytes": "0", "parameter_bytes": 16} ] }
*/
)";
  source.replace(source.find("INTERFACE"), 9, std::to_string(interface_version));
  TemplateCatalog catalog;
  auto parsed = KernelTemplate::parse(std::move(source), "scale.cu");
  REQUIRE_MESSAGE(parsed, (parsed ? "" : parsed.error().to_line()));
  REQUIRE(catalog.add(*parsed));
  return catalog;
}

inline KernelSpec factor_spec(int factor = 3) {
  return KernelSpec{"scale", {}}.set("factor", factor);
}

inline KernelSpec complete_spec(int factor = 3) {
  return factor_spec(factor).set("unroll", 1);
}

}  // namespace cubinet::test
