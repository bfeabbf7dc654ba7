// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"
#include "describe.hpp"
#include "kernel_arguments.hpp"
#include "verbs.hpp"

#include <fmt/format.h>

namespace cubinet::cli {
namespace {

// What a compilation here and now would be recorded as; nothing where there is no compiler, with the reason.
struct CurrentBuild {
  std::shared_ptr<Compiler> compiler;
  std::optional<Error> reason;
};

CurrentBuild current_build(const Context& context) {
  CurrentBuild build;
  auto compiler = Compiler::open(context.compiler_search());
  if (compiler) {
    build.compiler = *std::move(compiler);
  } else {
    build.reason = compiler.error();
    context.console().message(LogLevel::info, compiler.error().to_line());
  }
  return build;
}

Result<ExitStatus> key(const Context& context, const KernelArguments& arguments) {
  CUBINET_TRY_ASSIGN(const TemplateCatalog catalog, context.catalog(arguments.sources.template_files));
  const auto kernel = resolve_kernel(catalog, arguments);
  if (!kernel) return context.fail(kernel.error(), ExitStatus::usage);
  const CurrentBuild build = current_build(context);
  nlohmann::json document = describe(kernel->spec);
  document["keys"] = nlohmann::json::array();
  std::string text = kernel->spec.to_string();
  for (const SmTarget target : kernel->targets) {
    const KernelIdentity identity = identify(kernel->spec, target);
    nlohmann::json described = {{"target", target.to_string()},
                                {"key", identity.key().to_string()},
                                {"encoding", to_hex(identity.encoding())},
                                {"fingerprint", nullptr}};
    text += fmt::format("\n{}\n  key          {}\n  encoding     {}", target.to_string(),
                        identity.key().to_string(), to_hex(identity.encoding()));
    if (build.compiler) {
      CompileRequest request;
      request.kernel_template = kernel->kernel_template;
      request.spec = kernel->spec;
      request.target = target;
      request.options = compile_options(arguments.sources);
      CUBINET_TRY_ASSIGN(const BuildFingerprint fingerprint, build.compiler->fingerprint(request));
      described["fingerprint"] = fingerprint.to_string();
      text += "\n  fingerprint  " + fingerprint.to_string();
    } else {
      text += "\n  fingerprint  none: " + build.reason->message;
    }
    document["keys"].push_back(std::move(described));
  }
  if (build.compiler) {
    document["compiler"] = build.compiler->identity();
    text += "\nby " + build.compiler->identity();
  }
  context.console().text(text);
  context.console().document(document);
  return ExitStatus::done;
}

}  // namespace

void add_key(CLI::App& root, Action& chosen) {
  CLI::App* verb =
      root.add_subcommand("key", "Print a kernel's key, its encoding and today's build fingerprint");
  auto arguments = std::make_shared<KernelArguments>();
  add_kernel_arguments(*verb, *arguments);
  verb->footer(
      R"(The key and the encoding are the same on every machine. The fingerprint is that of the compiler found here.

Examples:
  cubinet key rms_norm -p hidden_size=4096 -p dtype=bf16 --target sm_90a,sm_100f
  cubinet key attention_decode -p head_dim_qk=128 -p head_dim_v=128 --target sm_80 --json)");
  choose<KernelArguments>(*verb, chosen, arguments, key);
}

}  // namespace cubinet::cli
