// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"
#include "server_arguments.hpp"
#include "verbs.hpp"

#include <cubinet/serving/serve_warm.hpp>

#include <nlohmann/json.hpp>

namespace cubinet::cli {
namespace {

struct ServeWarmArguments {
  Places places;
  std::vector<std::string> caches;  // TOOL=DIR
  std::string device;
  std::string workload;
};

// Returns the options of the session. Without a password that cannot be read, the command starts
// colder.
Result<SessionOptions> session_options(const Context& context, Places places) {
  auto options = context.session_options(places);
  if (options || places.server.user.empty() || places.server.password_file.empty()) return options;
  context.console().message(LogLevel::warning, "servers get no password: " + options.error().to_line());
  places.server.user.clear();
  places.server.password_file.clear();
  return context.session_options(places);
}

Result<ExitStatus> serve(const Context& context, const ServeWarmArguments& arguments) {
  if (context.command().empty())
    return context.fail(Error{ErrorCode::invalid_argument, "serve-warm needs a command to run",
                              "name it after all options: cubinet serve-warm [OPTION]... -- COMMAND..."});
  ServeWarmOptions options;
  CUBINET_TRY_ASSIGN(options.session, session_options(context, arguments.places));
  options.environment = context.environment();
  options.command = context.command();
  options.releases_streams = context.console().owns_stdout();
  options.workload = arguments.workload;
  for (const std::string& cache : arguments.caches) {
    CUBINET_TRY_ASSIGN(options.caches.emplace_back(), ToolCache::parse(cache));
  }
  if (!arguments.device.empty()) {
    CUBINET_TRY_ASSIGN(options.device, ComputeCapability::parse_known(arguments.device));
  }
  // The report goes to stderr, because stdout is the command's.
  options.report = [&console = context.console()](const ServeWarmReport& report) {
    if (!console.json()) return console.note("cubinet: " + to_text(report));
    if (report.ended)
      console.note_document("serve_warm", to_text(report), nlohmann::json::parse(to_json(report)));
  };
  CUBINET_TRY_ASSIGN(const int status, serve_warm(options));
  return static_cast<ExitStatus>(status);
}

}  // namespace

void add_serve_warm(CLI::App& root, Action& chosen) {
  CLI::App* verb = root.add_subcommand(
      "serve-warm",
      "Run a command with warm caches of Triton, DeepJIT and cuda.core; its status is returned");
  auto options = std::make_shared<ServeWarmArguments>();
  add_places(*verb, options->places);
  add_list(*verb, "--cache", options->caches, "TOOL=DIR",
           "The folder of triton, deepjit or cuda.core (default: as their variables say); may be repeated");
  add_text(*verb, "--device", options->device, "DEVICE", "sm_90 or 9.0 (default: this machine's)");
  add_text(*verb, "--workload", options->workload, "FILE",
           "Record what the command requests of cubinet, and merge it into this workload");
  verb->footer(R"(The command and its arguments follow -- and are passed on unchanged.

Examples:
  cubinet serve-warm --bundle oci://registry.example/kernels:stable -- vllm serve MODEL
  cubinet serve-warm --cache triton=/srv/triton --workload rank0.workload -- python3 server.py)");
  choose<ServeWarmArguments>(*verb, chosen, options, serve);
}

}  // namespace cubinet::cli
