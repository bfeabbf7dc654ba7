// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>
#include <cubinet/session/session_options.hpp>

#include <string>
#include <vector>

namespace cubinet {

// Returns one HTML page about its subjects, in their order (docs/report.md). The page is complete
// in itself: it loads nothing, and every text out of a subject is escaped. A subject is
//
//   - a home: a folder,
//   - a bundle: a file, or a reference of a server as in SessionOptions::bundles,
//   - a workload: a file, compared with the homes and bundles among the subjects or, if there are
//     none, with the stores of the session,
//   - results of a benchmark: a JSON file.
//
// Without a subject the page is about the home of the session. Compiles nothing and writes nothing
// but what servers send (SessionOptions::home_access). Whether a build is current depends on the
// compiler and the templates of the session. May block on files and servers.
//
// Returns invalid_argument for a file or folder that is none of these, and the errors of
// Home::open, Bundle::open, open_server and Workload::read. Thread-safe.
Result<std::string> html_report(const SessionOptions& session, const std::vector<std::string>& subjects);

}  // namespace cubinet
