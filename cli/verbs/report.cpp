// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"
#include "server_arguments.hpp"
#include "verbs.hpp"

#include <cubinet/base/text.hpp>
#include <cubinet/base/units.hpp>
#include <cubinet/report.hpp>

#include <fmt/format.h>

namespace cubinet::cli {
namespace {

struct ReportArguments {
  std::vector<std::string> subjects;
  std::string output;
  ServerArguments server;
};

Result<ExitStatus> write_report(const Context& context, const ReportArguments& arguments) {
  CUBINET_TRY_ASSIGN(SessionOptions session, context.session_options(arguments.server));
  if (arguments.output == "-") {
    if (context.console().json())
      return Error{ErrorCode::invalid_argument, "-o - writes the page to stdout, and so does --json",
                   "name a file with -o, or leave out --json"};
    CUBINET_TRY_ASSIGN(const std::string page, html_report(session, arguments.subjects));
    context.console().raw(page);
    return ExitStatus::done;
  }
  CUBINET_TRY_ASSIGN(
      const std::filesystem::path output,
      check_output_file(*context.files(), arguments.output, context.protected_files(arguments.subjects)));
  CUBINET_TRY_ASSIGN(const std::string page, html_report(session, arguments.subjects));
  CUBINET_TRY(write_file_atomically(*context.files(), output, as_bytes(page)));
  context.console().text(fmt::format("{}: {}", printable(output.string()), format_bytes(page.size())));
  context.console().document({{"report", output.string()}, {"bytes", page.size()}});
  return ExitStatus::done;
}

}  // namespace

void add_report(CLI::App& root, Action& chosen) {
  CLI::App* verb = root.add_subcommand(
      "report", "Write an HTML page about a home, bundles, workloads or results of benchmarks");
  auto options = std::make_shared<ReportArguments>();
  verb->add_option(
          "PLACE|FILE", options->subjects,
          "Folders of homes, bundles, references of servers, workloads, JSON of benchmarks; none: the home")
      ->type_name("");
  add_text(*verb, "-o,--output", options->output, "FILE", "The page to write; - for stdout")->required();
  add_server_options(*verb, options->server);
  verb->footer(
      R"(The page loads nothing and works without scripts. A workload is compared with the homes and bundles that are named
beside it, else with the home and the site homes: it says which entries they serve without compiling.

Examples:
  cubinet report -o home.html
  cubinet report rank0.workload serving.bundle -o deployment.html
  cubinet report bench/results/decode.json -o - > decode.html)");
  choose<ReportArguments>(*verb, chosen, options, write_report);
}

}  // namespace cubinet::cli
