// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "console.hpp"
#include "exit_status.hpp"
#include "places.hpp"

#include <cubinet/base/file_system.hpp>
#include <cubinet/cubin_registry/bundle.hpp>
#include <cubinet/cubin_registry/home.hpp>
#include <cubinet/runtime.hpp>
#include <cubinet/session.hpp>
#include <cubinet/session/environment.hpp>
#include <cubinet/session/json.hpp>
#include <cubinet/session/open_stores.hpp>
#include <cubinet/session/output_file.hpp>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cubinet::cli {

// The options that every verb accepts, before and after its name.
struct GlobalOptions {
  std::string home = {};                     // --home; empty: not given
  std::vector<std::string> site_homes = {};  // --site-home; empty: CUBINET_SITE_HOMES
  std::string nvrtc = {};                    // --nvrtc; empty: search
  std::string policy = {};                   // --policy; empty: the home's
  std::string log_format = {};               // --log-format; empty: CUBINET_LOG_FORMAT, or text
  unsigned jobs = 0;                         // --jobs; 0: as processors and memory allow
  int verbosity = 0;                         // -v, -vv
  bool json = false;                         // --json
  std::vector<std::string> command = {};     // of serve-warm: the words after --, unchanged
};

// The environment, options and console that a verb uses. Immutable except for output to the
// console.
class Context {
 public:
  Context(const EnvironmentVariables& environment, const GlobalOptions& options, Console& console)
      : environment_(environment), options_(options), console_(console) {}

  // Returns invalid_argument if a variable has a value that it does not take.
  Result<void> check_environment() const;
  // Returns --log-format, else CUBINET_LOG_FORMAT, else text.
  Result<LogFormat> log_format() const;

  Console& console() const { return console_; }
  const std::vector<std::string>& command() const { return options_.command; }
  const EnvironmentVariables& environment() const { return environment_; }
  const std::shared_ptr<FileSystem>& files() const { return files_; }

  // Returns the absolute path of --home, else CUBINET_HOME, else `cubinet` in the user's cache
  // folder. Returns unavailable if none of them is set.
  Result<std::filesystem::path> home() const;
  // Returns the source of the home's name, for people.
  std::string home_origin() const;
  // Returns " --home FOLDER --site-home FOLDER --nvrtc FILE --policy FILE" as they were given,
  // quoted for a shell. A printed command needs them to name the same homes and compiler.
  std::string given_places() const;
  unsigned jobs() const;
  bool verbose() const { return options_.verbosity > 0; }
  // Returns these inputs, the bundle files of `places`, and the homes.
  ProtectedFiles protected_files(std::vector<std::string> inputs, const Places& places = {}) const;

  // Returns the built-in templates and those of these files and folders.
  Result<TemplateCatalog> catalog(const std::vector<std::string>& template_files) const;
  Result<std::shared_ptr<Home>> open_registry(HomeOptions::Access access) const;
  // Returns the home, opened for reading; nullptr if its folder does not exist, as on a new
  // machine.
  Result<std::shared_ptr<Home>> open_existing_registry() const;
  // Returns the folder of this home or, if it is null, the folder that it would have.
  Result<std::string> place_of(const Home* home) const;
  // Returns the options that the environment and the global options specify. The home is empty if
  // none is named.
  SessionOptions session_options() const;
  // Like session_options(), with the servers of a line. Reads the password.
  Result<SessionOptions> session_options(const ServerArguments& servers) const;
  // Like session_options(), with the places of a line. Returns invalid_argument for options that
  // contradict each other.
  Result<SessionOptions> session_options(const Places& places) const;
  // Opens a session with the options and places of a line. Logs a warning if no home is named.
  Result<std::shared_ptr<Session>> session(const Places& places, HomeOptions::Access access) const;
  // Opens a bundle under the policy that the home or --policy has for it.
  Result<std::shared_ptr<Bundle>> open_bundle(const std::string& path) const;
  // Returns --policy, else the home's policy.json. Returns an empty name if no home is named
  // either.
  std::string policy_file() const;
  // Opens the home and these places, in this order, and the cache. If the home cannot be used, logs
  // a warning, and builds stay in memory. Reading does not create a home: a home that does not
  // exist counts as empty, and an existing home keeps content that servers send.
  Result<OpenedStores> stores(const Places& places, HomeOptions::Access access) const;
  Result<std::shared_ptr<Runtime>> runtime(TemplateCatalog templates, CompileOptions options,
                                           Callback<void(const KernelEvent&)> observer = {},
                                           const Places& places = {}, const TargetPolicy& targets = {}) const;
  // Returns a Runtime over exactly these stores, for queries.
  Result<std::shared_ptr<Runtime>> runtime_to_ask(OpenedStores stores, TemplateCatalog templates,
                                                  const TargetPolicy& targets = {},
                                                  CompileOptions options = {}) const;

  // Logs a warning if no home is named: builds then stay in memory.
  void warn_without_home() const;

  // Reports the error in the chosen format. Returns `status` if it is given, else the exit status
  // of the error's code.
  ExitStatus fail(const Error& error, std::optional<ExitStatus> status = std::nullopt) const;
  // Reports an error that leaves a result incomplete. In JSON it is added to the document of the
  // result.
  ExitStatus fail_with(const Error& error, nlohmann::json document) const;

 private:
  const EnvironmentVariables& environment_;
  const GlobalOptions& options_;
  Console& console_;
  std::shared_ptr<FileSystem> files_ = posix_file_system();
  Result<SessionOptions> environment_options_ = session_options_from(environment_);
};

}  // namespace cubinet::cli
