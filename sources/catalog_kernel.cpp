// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/text.hpp>
#include <cubinet/kernel_templates/source_program.hpp>
#include <cubinet/sources/source_catalogs.hpp>

#include <mutex>

namespace cubinet {
namespace {

std::string extents_text(const std::array<std::uint32_t, 3>& extents) {
  return std::to_string(extents[0]) + "x" + std::to_string(extents[1]) + "x" + std::to_string(extents[2]);
}

// Returns the launch as a part of the kernel's identity: a build has the launch in its record.
std::string launch_text(const SourceKernel& kernel) {
  std::string text = "block " + extents_text(kernel.block) + ", cluster " + extents_text(kernel.cluster) +
                     ", shared " + std::to_string(kernel.dynamic_shared_bytes);
  if (kernel.cooperative) text += ", cooperative";
  if (kernel.programmatic_launch) text += ", programmatic";
  return text;
}

// Returns the name by which a source in one folder includes a header in another.
std::string include_name(const std::string& header, const std::string& source) {
  return std::filesystem::path(header)
      .lexically_relative(std::filesystem::path(source).parent_path())
      .generic_string();
}

// A kernel of a catalog: the template of its SourceProgram, with a declared launch and one target.
class CatalogKernel final : public KernelTemplate {
 public:
  // REQUIRES: `files` are the source's, then those of the headers.
  CatalogKernel(const SourceManifest& manifest, SourceKernel kernel, std::vector<SourceFile> files,
                SourceCatalogs catalogs)
      : kernel_(std::move(kernel)),
        summary_(manifest.name + " of " + manifest.library),
        catalogs_(std::move(catalogs)),
        files_(std::move(files)) {}

  const std::string& name() const override { return kernel_.name; }
  const std::string& summary() const override { return summary_; }
  std::uint32_t interface_version() const override { return 1; }
  SmTarget minimum_target() const override { return kernel_.target; }
  const std::vector<ParameterDeclaration>& parameters() const override { return no_parameters_; }
  const std::vector<std::string>& unused_words() const override { return none_; }
  const std::vector<std::string>& constraints() const override { return none_; }
  const std::vector<std::string>& globals() const override { return none_; }
  const std::vector<std::string>& symbol_expressions() const override { return extern_c_; }
  std::vector<KernelInterface> interfaces() const override {
    return {KernelInterface{kernel_.symbol, {}, {}, {}}};
  }

  // The next members are those of the source. They are empty if it cannot be read, and then
  // resolve() returns the reason.
  const std::string& source() const override { return with_program(&KernelTemplate::source, no_text_); }
  const std::string& folder() const override { return no_text_; }
  const std::map<std::string, std::string>& headers() const override {
    return with_program(&KernelTemplate::headers, no_headers_);
  }

  Result<KernelSpec> resolve(const KernelSpec& spec) const override {
    if (!spec.parameters.empty())
      return Error{ErrorCode::invalid_argument, "the kernel '" + kernel_.name + "' has no parameters"};
    CUBINET_TRY_ASSIGN(const auto program, this->program());
    CUBINET_TRY_ASSIGN(KernelSpec resolved, program->resolve(spec));
    resolved.set("kernel", kernel_.symbol).set("launch", launch_text(kernel_));
    return resolved;
  }
  Result<std::vector<EntryPoint>> entry_points(const KernelSpec&) const override {
    return std::vector<EntryPoint>{entry_point_of(kernel_)};
  }
  Result<std::optional<KernelRow>> row(const KernelSpec&) const override {
    return std::optional<KernelRow>();
  }
  Result<void> check_target(const KernelSpec&, SmTarget target, ImageKind) const override {
    if (target == kernel_.target) return {};
    return Error{ErrorCode::unsupported, "the kernel '" + kernel_.name + "' is for " +
                                             kernel_.target.to_string() + ", and the target is " +
                                             target.to_string()};
  }
  Result<std::string> parameters_header(const KernelSpec&) const override { return std::string(); }

 private:
  // Reads the source, once it can be read.
  Result<std::shared_ptr<const KernelTemplate>> program() const {
    const std::lock_guard lock(mutex_);
    if (program_ == nullptr) {
      SourceProgram program;
      program.name = kernel_.name;
      CUBINET_TRY_ASSIGN(program.flags, compiler_flags_of(kernel_));
      CUBINET_TRY_ASSIGN(const Bytes text, catalogs_.read(files_.front()));
      CUBINET_TRY_ASSIGN(program.text, text_of_kernel(kernel_, as_text(text)));
      for (std::size_t i = 1; i < files_.size(); ++i) {
        CUBINET_TRY_ASSIGN(const Bytes header, catalogs_.read(files_[i]));
        program.headers[include_name(files_[i].path, kernel_.source)] = as_text(header);
      }
      CUBINET_TRY_ASSIGN(program_, program.as_template());
    }
    return program_;
  }

  template <class Member>
  const Member& with_program(const Member& (KernelTemplate::*member)() const, const Member& none) const {
    const auto program = this->program();
    return program ? ((**program).*member)() : none;
  }

  const SourceKernel kernel_;
  const std::string summary_;
  const SourceCatalogs catalogs_;
  const std::vector<SourceFile> files_;
  const std::vector<ParameterDeclaration> no_parameters_;
  const std::vector<std::string> none_;
  const std::vector<std::string> extern_c_ = {""};  // one kernel, known by its symbol
  const std::string no_text_;
  const std::map<std::string, std::string> no_headers_;
  mutable std::mutex mutex_;  // guards program_, which never changes once it is set
  mutable std::shared_ptr<const KernelTemplate> program_;
};

}  // namespace

Result<std::string> text_of_kernel(const SourceKernel& kernel, std::string_view file) {
  if (kernel.raw_strings.empty()) return std::string(file);
  const std::string begin = "R\"" + kernel.raw_strings + "(";
  const std::string end = ")" + kernel.raw_strings + "\"";
  std::string text;
  std::size_t at = file.find(begin);
  for (; at != std::string_view::npos; at = file.find(begin, at)) {
    at += begin.size();
    const std::size_t stop = file.find(end, at);
    if (stop == std::string_view::npos) break;
    text += file.substr(at, stop - at);
    at = stop + end.size();
  }
  if (at == std::string_view::npos && !text.empty()) return text;
  return Error{
      ErrorCode::invalid_argument,
      "'" + kernel.source + "' has no complete raw strings with the delimiter " + kernel.raw_strings};
}

std::vector<std::shared_ptr<const KernelTemplate>> templates_of(const SourceManifest& manifest,
                                                                const SourceCatalogs& catalogs) {
  std::map<std::string_view, const SourceFile*> files;
  for (const SourceFile& file : manifest.files)
    files.emplace(file.path, &file);
  std::vector<std::shared_ptr<const KernelTemplate>> templates;
  for (const SourceKernel& kernel : manifest.kernels) {
    std::vector<SourceFile> of_kernel = {*files.at(kernel.source)};
    for (const std::string& header : kernel.headers)
      of_kernel.push_back(*files.at(header));
    templates.push_back(std::make_shared<CatalogKernel>(manifest, kernel, std::move(of_kernel), catalogs));
  }
  return templates;
}

}  // namespace cubinet
