// SPDX-License-Identifier: Apache-2.0
#include "artifact_run.hpp"

#include "progress.hpp"

#include <cubinet/base/parallel.hpp>
#include <cubinet/base/text.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace cubinet::cli {

ArtifactRun artifact_run(const Context& context, const InterruptGuard& interrupt, unsigned threads) {
  return [&context, &interrupt, threads](const std::filesystem::path& folder, std::size_t count,
                                         const std::function<std::string(std::size_t)>& work) {
    Progress progress(context.console(), count);
    const auto perform = [&](std::size_t index) {
      progress.finished(fmt::format("{}: {}", folder.filename().string(), work(index)));
    };
    parallel_for(count, threads, perform,
                 {[&interrupt] { return interrupt.requested(); }, [&progress] { progress.tick(); }});
  };
}

void print(Console& console, std::string_view kind, const ArtifactFindings& findings, std::size_t limit) {
  const std::size_t shown = std::min(limit, findings.first.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const ArtifactFinding& finding = findings.first[i];
    console.text(fmt::format("{}: {}: {}", kind, printable((finding.folder / finding.name).string()),
                             printable(finding.reason)));
  }
  if (findings.count > shown) console.text(fmt::format("{}: and {} more", kind, findings.count - shown));
}

void end_interrupted(Console& console, const InterruptGuard& interrupt, std::string_view document,
                     const Error& error) {
  console.document_text(document);
  console.error(error);
  if (const auto written = console.finish(); !written) console.error(written.error());
  interrupt.end_process();
}

}  // namespace cubinet::cli
