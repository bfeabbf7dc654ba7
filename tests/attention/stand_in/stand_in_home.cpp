// SPDX-License-Identifier: Apache-2.0
#include "attention/stand_in/stand_in_home.hpp"

#include "attention/stand_in/stand_in_rows.hpp"
#include "embedded_files.hpp"
#include "nvrtc_program.hpp"
#include "support/published_header.hpp"

#include <cubinet/base/file_system.hpp>
#include <cubinet/base/sha256.hpp>
#include <cubinet/cubin_registry/home.hpp>
#include <cubinet/cubin_registry/imports.hpp>
#include <cubinet/jit/compiler.hpp>
#include <cubinet/kernel_explanation.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace cubinet {

std::span<const EmbeddedFile> embedded_stand_in_files();

namespace test {
namespace {

constexpr const char* kLayout = "0.6.13";

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

Result<void> write_folder(const std::filesystem::path& folder, std::vector<KernelRow> rows,
                          const CompilerSearch& search) {
  CUBINET_TRY_ASSIGN(const auto nvrtc, open_nvrtc(search));
  std::string list;
  const auto add = [&](const std::string& name, ByteView content) {
    list += sha256(content).to_hex() + "  " + name + "\n";
    return write_file_atomically(*posix_file_system(), folder / name, content);
  };
  std::filesystem::create_directories(folder / "include");
  for (KernelRow& row : rows) {
    CUBINET_TRY_ASSIGN(const Bytes image, compile_stand_in(*nvrtc, row));
    row.digest = sha256(image);
    CUBINET_TRY(add(row.function_name + ".cubin", image));
  }
  CUBINET_TRY(add("include/flashInferMetaInfo.h", as_bytes(published_header(rows))));
  const std::string listed = list;
  return add("checksums.txt", as_bytes(listed));
}

}  // namespace

Result<std::shared_ptr<const NvrtcApi>> open_nvrtc(const CompilerSearch& search) {
  CUBINET_TRY_ASSIGN(const auto compiler, Compiler::open(search));
  return NvrtcApi::open(compiler->location().library, compiler->location().builtins);
}

Result<Bytes> compile_stand_in(const NvrtcApi& nvrtc, const KernelRow& row) {
  const std::string source(embedded_stand_in_files().front().text());
  std::vector<std::string> texts;
  std::vector<HeaderView> headers;
  for (const EmbeddedFile& file : embedded_header_files())
    texts.emplace_back(file.text());
  for (std::size_t i = 0; i < texts.size(); ++i)
    headers.push_back({embedded_header_files()[i].name.data(), texts[i].c_str()});
  CUBINET_TRY_ASSIGN(NvrtcProgram program, NvrtcProgram::create(nvrtc, source, "stand_in.cu", headers));
  std::vector<std::string> flags = stand_in_flags(row);
  flags.insert(flags.end(), {"--gpu-architecture=" + row.target.to_string(), "--std=c++17"});
  if (program.compile(flags) != NVRTC_SUCCESS)
    return Error{ErrorCode::compile_failed, "stand_in.cu is no kernel " + row.function_name, "",
                 program.log()};
  return program.cubin();
}

Result<StandInHome> StandInHome::create(const std::filesystem::path& folder, std::vector<KernelRow> rows,
                                        const CompilerSearch& search) {
  const auto by_name = [](const KernelRow& a, const KernelRow& b) {
    return a.function_name < b.function_name;
  };
  const auto alike = [](const KernelRow& a, const KernelRow& b) {
    return a.function_name == b.function_name;
  };
  std::sort(rows.begin(), rows.end(), by_name);
  rows.erase(std::unique(rows.begin(), rows.end(), alike), rows.end());
  CUBINET_TRY(write_folder(folder / "published", std::move(rows), search));
  HomeOptions where;
  where.path = folder / "home";
  CUBINET_TRY_ASSIGN(const std::shared_ptr<Home> home, Home::open(where));
  LayoutGiver imports(home->imports());
  StandInHome made;
  CUBINET_TRY_ASSIGN(const ArtifactImportReport report, import_artifacts(folder / "published", {}, imports));
  made.imported_ = report.total;
  RuntimeOptions options;
  options.stores = {home};
  options.compiler = search;
  CUBINET_TRY_ASSIGN(made.runtime_, Runtime::create(std::move(options)));
  return made;
}

Result<AvailableKernels> StandInHome::kernels(const std::vector<KernelRow>& rows) const {
  CUBINET_TRY_ASSIGN(DeviceRows found, runtime_->rows({9, 0}));
  std::erase_if(found.rows, [&](const StoredRow& stored) {
    return std::none_of(rows.begin(), rows.end(),
                        [&](const KernelRow& row) { return row.function_name == stored.row->function_name; });
  });
  if (found.rows.size() != rows.size())
    return Error{ErrorCode::internal, "the import lost rows of the stand-in"};
  return AvailableKernels::create(std::move(found), {9, 0});
}

}  // namespace test
}  // namespace cubinet
