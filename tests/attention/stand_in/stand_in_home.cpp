// SPDX-License-Identifier: Apache-2.0
#include "attention/stand_in/stand_in_home.hpp"

#include "attention/stand_in/stand_in_rows.hpp"
#include "embedded_files.hpp"
#include "nvrtc_program.hpp"
#include "support/compiler_search.hpp"
#include "support/ok.hpp"
#include "support/published_header.hpp"

#include <cubinet/base/sha256.hpp>
#include <cubinet/cubin_registry/home.hpp>
#include <cubinet/cubin_registry/imports.hpp>
#include <cubinet/jit/compiler.hpp>
#include <cubinet/kernel_explanation.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

namespace cubinet {

std::span<const EmbeddedFile> embedded_stand_in_files();

namespace test {
namespace {

constexpr const char* kLayout = "0.6.13";

const NvrtcApi& nvrtc() {
  static const std::shared_ptr<const NvrtcApi> kApi = [] {
    const auto compiler = ok(Compiler::open(compiler_search()));
    return ok(NvrtcApi::open(compiler->location().library, compiler->location().builtins));
  }();
  return *kApi;
}

void write(const std::filesystem::path& path, ByteView content) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream stream(path, std::ios::binary);
  const std::string_view text = as_text(content);
  stream.write(text.data(), static_cast<std::streamsize>(text.size()));
  stream.close();
  REQUIRE(stream.good());
}

// A home's imports, to which what was imported takes its arguments as flashinfer-cubin 0.6.13 does.
class LayoutGiver final : public Imports {
 public:
  explicit LayoutGiver(Imports& home) : home_(home) {}

  Result<std::uint64_t> publish(const ArtifactImport& import) override {
    ArtifactImport given = import;
    for (KernelRow& row : given.rows)
      row.layout = kLayout;
    return home_.publish(given);
  }

  Result<std::vector<ImportSummary>> list() override { return home_.list(); }
  Result<std::shared_ptr<const ArtifactImport>> read(std::uint64_t number) override {
    return home_.read(number);
  }
  Result<bool> remove(std::uint64_t number) override { return home_.remove(number); }
  Result<void> bring(const std::string& file, const Sha256Digest& digest, ArtifactPlacement how) override {
    return home_.bring(file, digest, how);
  }
  Result<std::vector<VerifiedFile>> verified(const std::string& folder) override {
    return home_.verified(folder);
  }
  Result<void> remember(const std::string& folder, std::span<const VerifiedFile> files) override {
    return home_.remember(folder, files);
  }

 private:
  Imports& home_;
};

void write_folder(const std::filesystem::path& folder, std::vector<KernelRow> rows) {
  std::string list;
  const auto add = [&](const std::string& name, ByteView content) {
    write(folder / name, content);
    list += sha256(content).to_hex() + "  " + name + "\n";
  };
  for (KernelRow& row : rows) {
    const Bytes image = compile_stand_in(row);
    row.digest = sha256(image);
    add(row.function_name + ".cubin", image);
  }
  add("include/flashInferMetaInfo.h", as_bytes(published_header(rows)));
  write(folder / "checksums.txt", as_bytes(list));
}

}  // namespace

Bytes compile_stand_in(const KernelRow& row) {
  const std::string source(embedded_stand_in_files().front().text());
  std::vector<std::string> texts;
  std::vector<HeaderView> headers;
  for (const EmbeddedFile& file : embedded_header_files())
    texts.emplace_back(file.text());
  for (std::size_t i = 0; i < texts.size(); ++i)
    headers.push_back({embedded_header_files()[i].name.data(), texts[i].c_str()});
  NvrtcProgram program = ok(NvrtcProgram::create(nvrtc(), source, "stand_in.cu", headers));
  std::vector<std::string> flags = stand_in_flags(row);
  flags.insert(flags.end(), {"--gpu-architecture=" + row.target.to_string(), "--std=c++17"});
  const nvrtcResult compiled = program.compile(flags);
  REQUIRE_MESSAGE(compiled == NVRTC_SUCCESS, row.function_name, program.log());
  return ok(program.cubin());
}

StandInHome::StandInHome(std::vector<KernelRow> rows) {
  const auto by_name = [](const KernelRow& a, const KernelRow& b) {
    return a.function_name < b.function_name;
  };
  const auto alike = [](const KernelRow& a, const KernelRow& b) {
    return a.function_name == b.function_name;
  };
  std::sort(rows.begin(), rows.end(), by_name);
  rows.erase(std::unique(rows.begin(), rows.end(), alike), rows.end());
  write_folder(folder_ / "published", std::move(rows));
  HomeOptions where;
  where.path = folder_ / "home";
  const std::shared_ptr<Home> home = ok(Home::open(where));
  LayoutGiver imports(home->imports());
  imported_ = ok(import_artifacts(folder_ / "published", {}, imports)).total;
  RuntimeOptions options;
  options.stores = {home};
  options.compiler = compiler_search();
  runtime_ = ok(Runtime::create(std::move(options)));
}

AvailableKernels StandInHome::kernels(const std::vector<KernelRow>& rows) const {
  DeviceRows found = ok(runtime_->rows({9, 0}));
  std::erase_if(found.rows, [&](const StoredRow& stored) {
    return std::none_of(rows.begin(), rows.end(),
                        [&](const KernelRow& row) { return row.function_name == stored.row->function_name; });
  });
  REQUIRE(found.rows.size() == rows.size());
  return AvailableKernels::create(std::move(found), {9, 0});
}

}  // namespace test
}  // namespace cubinet
