// SPDX-License-Identifier: Apache-2.0
#include "linked_parts.hpp"

#include <cubinet/base/sha256.hpp>
#include <cubinet/base/text.hpp>
#include <cubinet/kernel_templates/source_program.hpp>

#include <algorithm>
#include <set>

namespace cubinet {
namespace {

constexpr std::size_t kMaximumProgramBytes = std::size_t{16} << 20;
constexpr std::size_t kMaximumParts = 1024;

std::string digest_of(std::string_view text) {
  return sha256(as_bytes(text)).to_hex();
}

class ProgramTemplate final : public KernelTemplate {
 public:
  ProgramTemplate(SourceProgram program, KernelSpec spec)
      : program_(std::move(program)), spec_(std::move(spec)), summary_("a source without a declaration") {
    for (SourceProgram& source : program_.sources) {
      source.preludes = program_.preludes;
      linked_.push_back(std::make_shared<ProgramTemplate>(std::move(source), KernelSpec()));
    }
  }

  const std::string& name() const override { return program_.name; }
  const std::string& summary() const override { return summary_; }
  std::uint32_t interface_version() const override { return 1; }
  const std::string& source() const override { return program_.text; }
  std::string file_name() const override { return program_.name + program_.ending; }
  const std::string& folder() const override { return program_.folder; }
  const std::map<std::string, std::string>& headers() const override { return program_.headers; }
  const std::vector<Prelude>& preludes() const override { return program_.preludes; }
  const std::vector<ParameterDeclaration>& parameters() const override { return no_parameters_; }
  const std::vector<std::string>& unused_words() const override { return no_constraints_; }
  SmTarget minimum_target() const override { return {5, 0, TargetKind::baseline}; }
  const std::vector<std::string>& constraints() const override { return no_constraints_; }
  const std::vector<std::string>& symbol_expressions() const override { return program_.kernels; }
  const std::vector<std::shared_ptr<const KernelTemplate>>& linked_sources() const override {
    return linked_;
  }
  const std::vector<std::string>& libraries() const override { return program_.libraries; }
  const std::vector<std::string>& globals() const override { return program_.globals; }

  Result<KernelSpec> resolve(const KernelSpec& spec) const override {
    KernelSpec resolved = spec_;
    resolved.options = with_defaults(std::move(resolved.options), spec.options);
    if (!linked_.empty() || !libraries().empty()) make_linkable(resolved.options);
    return resolved;
  }
  Result<std::vector<EntryPoint>> entry_points(const KernelSpec&) const override {
    std::vector<EntryPoint> entries;
    for (const std::string& kernel : program_.kernels) {
      EntryPoint& entry = entries.emplace_back();
      entry.name = kernel;
      entry.programmatic_launch = true;
    }
    return entries;
  }
  std::vector<KernelInterface> interfaces() const override {
    std::vector<KernelInterface> interfaces;
    for (const std::string& kernel : program_.kernels)
      interfaces.emplace_back().kernel = kernel;
    return interfaces;
  }
  Result<std::optional<KernelRow>> row(const KernelSpec&) const override {
    return std::optional<KernelRow>();
  }
  Result<void> check_target(const KernelSpec&, SmTarget, ImageKind) const override { return {}; }
  Result<std::string> parameters_header(const KernelSpec&) const override { return std::string(); }

 private:
  SourceProgram program_;
  KernelSpec spec_;
  std::string summary_;
  std::vector<std::shared_ptr<const KernelTemplate>> linked_;
  std::vector<ParameterDeclaration> no_parameters_;
  std::vector<std::string> no_constraints_;
};

Error bad(const SourceProgram& program, const std::string& reason) {
  return Error{ErrorCode::invalid_argument,
               "the source '" + printable(program.name.substr(0, kMaximumFileName)) + "': " + reason};
}

Result<void> check_names(const SourceProgram& program, const std::string& what,
                         const std::vector<std::string>& names) {
  if (names.size() > kMaximumParts) return bad(program, "it has more than 1024 " + what + "s");
  for (auto name = names.begin(); name != names.end(); ++name) {
    if (name->empty() || !is_printable(*name))
      return bad(program, "'" + printable(*name) + "' is no name of a " + what);
    if (std::find(names.begin(), name, *name) != name)
      return bad(program, "the " + what + " '" + *name + "' is named twice");
  }
  return {};
}

Result<void> check_source(const SourceProgram& program) {
  if (!is_file_name(program.name) || !is_file_name(program.name + program.ending))
    return bad(program, "its name has to be a file's, without a folder");
  if (program.headers.size() > kMaximumParts) return bad(program, "it has more than 1024 headers");
  const auto check_text = [&](const std::string& of, const std::string& text) -> Result<void> {
    if (text.size() > kMaximumProgramBytes) return bad(program, of + " has more than 16 MiB");
    if (text.find('\0') == std::string::npos) return {};
    return bad(program, of + " holds a NUL character, at which the compiler would stop");
  };
  CUBINET_TRY(check_text("its text", program.text));
  for (const auto& [header, text] : program.headers) {
    if (header.empty() || !is_printable(header) || header.find_first_of("\"<>\\") != std::string::npos)
      return bad(program, "'" + printable(header) + "' is no header's name");
    CUBINET_TRY(check_text("its header '" + header + "'", text));
  }
  if (program.preludes.size() > kMaximumParts) return bad(program, "it has more than 1024 preludes");
  for (const Prelude& prelude : program.preludes) {
    if (!is_file_name(prelude.name))
      return bad(program, "'" + printable(prelude.name.substr(0, kMaximumFileName)) +
                              "' is no prelude's name: it has to be a file's, without a folder");
    CUBINET_TRY(check_text("its prelude '" + prelude.name + "'", prelude.text));
  }
  CUBINET_TRY(check_names(program, "kernel", program.kernels));
  CUBINET_TRY(check_names(program, "global", program.globals));
  return {};
}

Result<void> check(const SourceProgram& program) {
  CUBINET_TRY(check_source(program));
  if (auto libraries = check_library_names(program.libraries); !libraries) {
    Error error = bad(program, libraries.error().message);
    error.remedy = libraries.error().remedy;
    return error;
  }
  if (program.sources.size() >= kMaximumParts) return bad(program, "it has more than 1024 sources");
  std::set<std::string_view> names = {program.name};
  std::set<std::string_view> kernels(program.kernels.begin(), program.kernels.end());
  std::set<std::string_view> globals(program.globals.begin(), program.globals.end());
  for (const SourceProgram& source : program.sources) {
    CUBINET_TRY(check_source(source));
    const bool is_plain =
        source.flags.empty() && source.preludes.empty() && source.sources.empty() && source.libraries.empty();
    if (!is_plain)
      return bad(
          source,
          "flags, preludes, further sources and libraries belong to the program that it is linked into");
    if (!names.insert(source.name).second)
      return bad(program, "two of its sources are called '" + source.name + "'");
    for (const std::string& kernel : source.kernels) {
      if (!kernels.insert(kernel).second)
        return bad(program, "the kernel '" + kernel + "' is named of two sources");
    }
    for (const std::string& global : source.globals) {
      if (!globals.insert(global).second)
        return bad(program, "the global '" + global + "' is named of two sources");
    }
  }
  if (kernels.size() > kMaximumParts) return bad(program, "it has more than 1024 kernels");
  return {};
}

void describe(const SourceProgram& program, const std::string& prefix, KernelSpec& spec) {
  if (program.ending != SourceProgram().ending) spec.set(prefix + "ending", program.ending);
  spec.set(prefix + "text", digest_of(program.text));
  for (std::size_t i = 0; i < program.kernels.size(); ++i)
    spec.set(prefix + "kernel " + std::to_string(i), program.kernels[i]);
  for (std::size_t i = 0; i < program.globals.size(); ++i)
    spec.set(prefix + "global " + std::to_string(i), program.globals[i]);
  for (const auto& [header, content] : program.headers)
    spec.set(prefix + "header " + header, digest_of(content));
}

}  // namespace

Result<std::shared_ptr<const KernelTemplate>> SourceProgram::as_template() const {
  CUBINET_TRY(check(*this));
  KernelSpec spec;
  spec.maker = KernelMaker::source;
  spec.name = name;
  auto options = parse_compiler_flags(flags);
  if (!options) return bad(*this, options.error().message);
  spec.options = *std::move(options);
  describe(*this, "", spec);
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const std::string prefix = "source " + std::to_string(i) + " ";
    spec.set(prefix + "name", sources[i].name);
    describe(sources[i], prefix, spec);
  }
  for (std::size_t i = 0; i < preludes.size(); ++i)
    spec.set("prelude " + std::to_string(i) + " " + preludes[i].name, digest_of(preludes[i].text));
  for (std::size_t i = 0; i < libraries.size(); ++i)
    spec.set("library " + std::to_string(i), libraries[i]);
  return std::shared_ptr<const KernelTemplate>(std::make_shared<ProgramTemplate>(*this, std::move(spec)));
}

}  // namespace cubinet
