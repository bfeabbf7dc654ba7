// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "context.hpp"

#include <CLI/App.hpp>

#include <functional>

namespace cubinet::cli {

// The work that the command line requests. Runs after all options are parsed; the caller reports an
// error.
using Action = std::function<Result<ExitStatus>(const Context&)>;

// Each declares one verb with its options and examples below `root`. Parsing the verb's name sets
// `chosen`.
void add_adopt(CLI::App& root, Action& chosen);
void add_materialize(CLI::App& root, Action& chosen);
void add_bench(CLI::App& root, Action& chosen);
void add_bench_invariance(CLI::App& bench, Action& chosen);
void add_doctor(CLI::App& root, Action& chosen);
void add_templates(CLI::App& root, Action& chosen);
void add_trust(CLI::App& root, Action& chosen);
void add_key(CLI::App& root, Action& chosen);
void add_explain(CLI::App& root, Action& chosen);
void add_channel(CLI::App& root, Action& chosen);
void add_completion(CLI::App& root, Action& chosen);
void add_compile(CLI::App& root, Action& chosen);
void add_prebuild(CLI::App& root, Action& chosen);
void add_bundle(CLI::App& root, Action& chosen);
void add_bundle_combine(CLI::App& bundle, Action& chosen);  // merge, subset
void add_bundle_compare(CLI::App& bundle, Action& chosen);  // diff, root
void add_bundle_create(CLI::App& bundle, Action& chosen);
void add_bundle_extract(CLI::App& bundle, Action& chosen);
void add_bundle_sign(CLI::App& bundle, Action& chosen);
void add_import_artifacts(CLI::App& root, Action& chosen);
void add_import_sources(CLI::App& root, Action& chosen);
void add_inspect(CLI::App& root, Action& chosen);
void add_manual(CLI::App& root, Action& chosen);
void add_mirror(CLI::App& root, Action& chosen);
void add_outdated(CLI::App& root, Action& chosen);
void add_pull(CLI::App& root, Action& chosen);
void add_push(CLI::App& root, Action& chosen);
void add_registry(CLI::App& root, Action& chosen);
void add_registry_add(CLI::App& registry, Action& chosen);
void add_registry_gc(CLI::App& registry, Action& chosen);
void add_registry_limit(CLI::App& registry, Action& chosen);
void add_registry_pin(CLI::App& registry, Action& chosen);
void add_registry_refresh(CLI::App& registry, Action& chosen);
void add_registry_remove(CLI::App& registry, Action& chosen);
void add_registry_stats(CLI::App& registry, Action& chosen);
void add_report(CLI::App& root, Action& chosen);
void add_run(CLI::App& root, Action& chosen);
void add_run_merge(CLI::App& run, Action& chosen);
void add_select(CLI::App& root, Action& chosen);
void add_serve_warm(CLI::App& root, Action& chosen);
void add_tune(CLI::App& root, Action& chosen);

// Makes parsing `verb` choose `perform(context, *options)`.
template <class Options, class Perform>
void choose(CLI::App& verb, Action& chosen, std::shared_ptr<const Options> options, Perform perform) {
  verb.callback([&chosen, options, perform] {
    chosen = [options, perform](const Context& context) { return perform(context, *options); };
  });
}

}  // namespace cubinet::cli
