// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/sha256.hpp>
#include <cubinet/cubin_registry/bundle.hpp>
#include <cubinet/session/session_options.hpp>

#include <memory>
#include <optional>
#include <string>

namespace cubinet {

// Returns the digest of the root of the one bundle that this library trusts as itself
// (CUBINET_BUILTIN_BUNDLE of the build). nullopt: it was built without one.
std::optional<Sha256Digest> builtin_bundle_root();

// Opens SessionOptions::builtin_bundle, whose place is kBuiltinPlace. The digest of its root
// replaces signatures. Returns nullptr, with a log line, if the policy for kBuiltinPlace refuses
// it. Returns invalid_argument if `root` is nullopt, untrusted if the file has another root, the
// errors of Bundle::open, and those of find_trust_policy.
Result<std::shared_ptr<Bundle>> open_builtin_bundle(const SessionOptions& options,
                                                    const std::optional<Sha256Digest>& root);

// The state of the builtin bundle, for people.
struct BuiltinReport {
  std::optional<Sha256Digest> root;  // the digest that the library expects
  std::string file;                  // empty: none is named
  std::shared_ptr<Bundle> bundle;    // nullptr: not used
  bool refused = false;              // if true, the policy refuses it
  std::optional<Error> error;        // why it cannot be used
};
BuiltinReport report_builtin_bundle(const SessionOptions& options,
                                    const std::optional<Sha256Digest>& root = builtin_bundle_root());
// Returns the report as one line.
std::string to_text(const BuiltinReport& report);

}  // namespace cubinet
