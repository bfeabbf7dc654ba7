// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/callback.hpp>
#include <cubinet/cubin_registry/bundle.hpp>
#include <cubinet/session/device_choice.hpp>
#include <cubinet/session/record_filter.hpp>
#include <cubinet/session/session_options.hpp>
#include <cubinet/session/transfer_progress.hpp>
#include <cubinet/session/trust_report.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cubinet {

struct PullOptions {
  // The server and its bundle, as in ServerOptions::reference. If the home has pinned the channel,
  // the pinned manifest is used.
  std::string reference;
  std::vector<std::string> mirrors = {};  // contacted next; references without a channel
  // The bundle to write; its signatures are written beside it. Empty: the kernels are imported into
  // the home.
  std::string output = {};
  // The kernels to pull. All of them unless one of these is given.
  RecordFilter filter = {};
  std::optional<DeviceRequest> device = {};
  bool dry_run = false;  // if true, determines what would be pulled and records nothing
  // Called on the calling thread as the kernels arrive.
  Callback<void(const TransferProgress&)> progress = {};
  // Called often, from any thread. If it returns true, the pull ends with `unavailable`. Data that
  // has arrived is kept in the home or beside `output`, and the next pull continues with it.
  Callback<bool()> cancelled = {};

  bool is_part() const { return !filter.empty() || device.has_value(); }
};

struct PullResult {
  std::string reference;  // the server and the manifest: "oci://host/name@sha256:…"
  std::string channel;    // as the bundle states it
  std::uint64_t version = 0;
  bool pinned = false;  // the home has pinned this manifest; the channel may name another
  // The version that the channel named before, if that is newer: the channel has gone back.
  std::optional<std::uint64_t> older_than = {};
  std::uint64_t kernels = 0;               // that were pulled
  std::uint64_t present = 0;               // that the home already had
  std::uint64_t bytes = 0;                 // of these kernels on the server
  std::vector<StoreFinding> refused = {};  // by the home: damaged, or in conflict with its builds
  // Kernels for which the home still uses the build of a newer bundle.
  std::vector<ImportReport::Outranked> outranked = {};
  std::vector<UnservedProblem> unserved = {};  // of PullOptions::device
  TrustReport trust = {};
  std::string bundle = {};  // the file; empty if the kernels are in the home

  // Returns whether no kernel of the bundle matches the options. Nothing was written in that case.
  bool empty() const { return kernels == 0 && present == 0; }
};

// Fetches a bundle, or a part of it, from a server. The policy of SessionOptions judges the
// bundle's root and signatures before its kernels are fetched; every byte is compared with its
// digest. Kernels that the home already has are not fetched.
//
// Errors: invalid_argument for a reference without channel and manifest, and for a mirror with one;
// not_found for a channel that the server does not have; untrusted if the policy refuses the bundle
// or contact with the server; unavailable if the server does not answer, without a home to import
// into, and after cancellation; corruption for wrong bytes; and the errors of Home::open.
Result<PullResult> pull(const SessionOptions& session, const PullOptions& options);

// Returns the JSON that `cubinet pull --json` prints.
std::string to_json(const PullResult& result);

}  // namespace cubinet
