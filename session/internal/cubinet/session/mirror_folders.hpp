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
  std::string source;  // a published folder, or one above several: a path or a server's reference
  std::vector<std::string> mirrors = {};   // contacted next
  std::filesystem::path destination = {};  // from mirror_destination()
  // The folders and the digests of their lists. Empty: the lists that a source on this machine has
  // itself.
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
  bool interrupted = false;                    // the next mirror continues; the pages are the old ones
  double seconds = 0;

  std::optional<Error> error() const;  // the interruption
  // Returns whether every file is there and right.
  bool sound() const;
};

// Returns the folder that a reference names. invalid_argument for a server, a channel and a
// manifest.
Result<std::filesystem::path> mirror_destination(const std::string& reference);

// Copies published folders, checked, into a folder that any static server then serves
// (mirror_published). If a device is given, the cubins that it needs are chosen from each folder's
// header.
Result<MirrorFoldersResult> mirror_folders(const SessionOptions& session,
                                           const MirrorFoldersOptions& options);

// Returns the JSON that `cubinet mirror --json` prints for folders.
std::string to_json(const MirrorFoldersResult& result);

}  // namespace cubinet
