// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "servers.hpp"
#include "support/fake_cubin.hpp"
#include "support/temp_dir.hpp"

#include <cubinet/cubin_registry/bundle.hpp>
#include <cubinet/distribution/bundle_transfer.hpp>
#include <cubinet/distribution/server_store.hpp>
#include <cubinet/trust/secret_key.hpp>
#include <cubinet/trust/signature.hpp>

namespace cubinet::test {

inline std::vector<Cubin> cubins_of(int count) {
  std::vector<Cubin> cubins;
  for (int i = 0; i < count; ++i) {
    FakeCubin description;
    description.filler = static_cast<std::uint8_t>(i);
    description.code_bytes = 50'000;
    KernelSpec spec;
    spec.name = "kernel_" + std::to_string(i);
    cubins.push_back(make_cubin(spec, description));
  }
  return cubins;
}

// Bundles that are pushed to a server as versions of the channel "stable", and stores over them.
struct ServedBundle {
  explicit ServedBundle(std::shared_ptr<ContentServer> where) : server(std::move(where)) {}

  Sha256Digest push(std::uint64_t version, int count = 3, const SecretKey* key = nullptr,
                    BundleOptions options = {}) const {
    const std::filesystem::path file = folder / "a.bundle";
    options.channel = "stable";
    options.version = version;
    ok(create_bundle(file.string(), cubins_of(count), options));
    const auto bundle = ok(Bundle::open(file.string()));
    BundleUpload upload{file, bundle->root_bytes().size()};
    if (key != nullptr) {
      const std::string text = ok(sign(*key, bundle->root_bytes(), "")).to_file();
      const ByteView signature = as_bytes(text);
      upload.signatures.push_back({key->public_key().id(), Bytes(signature.begin(), signature.end())});
    }
    return ok(push_bundle(*server, posix_file_system(), upload, "stable"));
  }
  std::shared_ptr<Home> home(HomeOptions::Access access = HomeOptions::Access::read_write) const {
    return ok(Home::open({.path = (folder / "home").string(), .access = access}));
  }
  ServerStoreOptions options() const {
    ServerStoreOptions options;
    options.reference = ok(ServerReference::parse("https://files.example/kernels#stable"));
    options.server = server;
    options.home = home();
    return options;
  }

  TempDir folder;
  std::shared_ptr<ContentServer> server;
};

// The version of the bundle that a store answers from.
inline std::uint64_t version_of(Store& store) {
  return ok(store.list()).at(0)->version;
}

}  // namespace cubinet::test
