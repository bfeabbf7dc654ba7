// SPDX-License-Identifier: Apache-2.0
#include <cubinet/jit/compiler.hpp>
#include <cubinet/session/compiler_report.hpp>
#include <cubinet/session/open_stores.hpp>

namespace cubinet {

CompilerReport report_compilers(const SessionOptions& session) {
  const CompilerSearch search = compiler_search(session);
  CompilerReport report;
  report.searched = places_searched(search);
  const auto compiler = Compiler::open(search);
  if (compiler) {
    report.identity = (*compiler)->identity();
    report.library = (*compiler)->location().library;
    report.builtins = (*compiler)->location().builtins;
  }
  for (const CompilerCandidate& candidate : find_compilers(search)) {
    report.candidates.push_back({std::string(to_string(candidate.source)), candidate.library,
                                 candidate.builtins, candidate.library == report.library});
  }
  if (!compiler) {
    report.error = compiler.error();
    return report;
  }
  if (const auto linker = find_linker((*compiler)->location(), search)) {
    report.linker = CompilerReport::Linker{linker->identity, linker->library};
  } else {
    report.why_no_linker = linker.error().message;
  }
  const auto targets = (*compiler)->supported_targets();
  if (targets) {
    report.targets = *targets;
  } else {
    report.error = targets.error();
  }
  return report;
}

}  // namespace cubinet
