// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/log.hpp>
#include <cubinet/cubin_registry/bundle.hpp>
#include <cubinet/cubin_registry/home.hpp>
#include <cubinet/distribution/content_server.hpp>
#include <cubinet/distribution/server_reference.hpp>
#include <cubinet/transport/http_client.hpp>
#include <cubinet/trust/trust_policy.hpp>

#include <chrono>
#include <memory>
#include <optional>

namespace cubinet {

// How on-demand requests are made where nothing else was said: who waits for a kernel compiles it rather than
// wait for long.
HttpSettings on_demand(HttpSettings settings);

struct ServerStoreOptions {
  ServerReference reference;              // with a channel or a manifest
  std::shared_ptr<ContentServer> server;  // that it names, with its mirrors
  std::shared_ptr<HttpClient> client =
      nullptr;                           // whose connections are kept during one question; may be null
  std::shared_ptr<Home> home = nullptr;  // where what arrives is kept; nullptr: nothing is
  std::optional<TrustPolicy> policy = {};
  bool offline = false;
  // For so long what a channel named is taken as it was when it was asked.
  std::chrono::seconds fresh = std::chrono::hours(1);
  // How long another process's download is waited for.
  std::chrono::milliseconds patience = std::chrono::seconds(20);
  std::chrono::milliseconds rest = std::chrono::minutes(1);  // of a server that gave no answer
  LogSink log = {};
  std::shared_ptr<FileSystem> files = nullptr;  // for the versions seen; nullptr: the operating system's
};

// A bundle on a server as a store: its root and pages answer, and of its pack the frames travel that are
// asked for. Nothing is asked before the first question; then the policy judges the root before any of the
// pack is fetched. Root and pages are kept in the home, and images published into it, so that of all
// processes of a node one fetches each.
//
// A server that gives no answer, or a bundle that may not be used, costs a bounded time once: for `rest`
// every question is `unavailable` at once, or what the bundle was refused for. Of many processes of a node
// each waits for the one that asks, and none asks again behind it. It stays with the bundle that
// it opened. invalid_argument where the reference names neither channel nor manifest.
Result<std::shared_ptr<Store>> open_server_store(ServerStoreOptions options);
// The bundle that a store is, or that one over a server has opened; nullptr where there is none.
std::shared_ptr<Bundle> bundle_of(const std::shared_ptr<Store>& store);

}  // namespace cubinet
