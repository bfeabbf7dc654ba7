// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/artifacts/published_mirror.hpp>
#include <cubinet/session/device_choice.hpp>
#include <cubinet/session/session_options.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace cubinet {

struct MirrorFoldersOptions {
  std::string source;  // a path or reference of a published folder, or of a folder of several
  std::vector<std::string> mirrors = {};   // contacted next
  std::filesystem::path destination = {};  // from mirror_destination()
  // The folders and the digests of their lists. Empty: a source on this machine has its own lists,
  // which are used.
  std::vector<PublishedList> lists = {};
  // The cubins to copy; all of them without these.
  std::vector<SmTarget> targets = {};
  std::vector<std::string> functions = {};
  std::optional<DeviceRequest> device = {};
  decltype(PublishedMirrorOptions::run) run = {};
  Callback<bool()> cancelled = {};
};

struct MirrorFoldersResult {
  std::string source;
  std::filesystem::path destination;
  std::vector<MirroredFolder> folders = {};
  std::vector<UnservedProblem> unserved = {};  // of MirrorFoldersOptions::device; empty if interrupted
  bool interrupted = false;                    // the next mirror continues; the pages are not updated
  double seconds = 0;

  std::optional<Error> error() const;  // the interruption
  // Returns whether every file exists and is correct.
  bool sound() const;
};

// Returns the folder that a reference names. Returns invalid_argument for a server, a channel and a
// manifest.
Result<std::filesystem::path> mirror_destination(const std::string& reference);

// Copies published folders and checks them (mirror_published). Any static server can then serve the
// destination. If a device is given, the cubins that it needs are chosen from each folder's header.
Result<MirrorFoldersResult> mirror_folders(const SessionOptions& session,
                                           const MirrorFoldersOptions& options);

// Returns the JSON that `cubinet mirror --json` prints for folders.
std::string to_json(const MirrorFoldersResult& result);

}  // namespace cubinet
