// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/fake_cubin.hpp"
#include "support/ok.hpp"
#include "support/temp_dir.hpp"

#include <cubinet/cubin_registry/bundle.hpp>
#include <cubinet/session/pull.hpp>
#include <cubinet/session/push.hpp>
#include <cubinet/trust/secret_key.hpp>
#include <cubinet/trust/signature.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace cubinet::test {

// Versions of the channel "stable" on a server that is a folder, and a session that pulls them into
// a home.
struct ServedChannel {
  ServedChannel() { session.home = (folder / "home").string(); }

  // A kernel for sm_90a and one for sm_80.
  static std::vector<Cubin> cubins() {
    KernelSpec one, two;
    one.name = "one";
    two.name = "two";
    FakeCubin ampere;
    ampere.target = {8, 0, TargetKind::baseline};
    ampere.filler = 1;
    ampere.code_bytes = 50'000;
    return {make_cubin(one), make_cubin(two, ampere)};
  }
  // Returns the bundle's file.
  std::string bundle(std::uint64_t version, const SecretKey* key = nullptr,
                     const std::string& comment = "") const {
    const std::string file = (folder / ("v" + std::to_string(version) + ".bundle")).string();
    BundleOptions options;
    options.channel = "stable";
    options.version = version;
    ok(create_bundle(file, cubins(), options));
    if (key != nullptr) {
      const std::string text = ok(sign(*key, ok(Bundle::open(file))->root_bytes(), comment)).to_file();
      write_file(file + "." + key->public_key().id() + ".minisig", text);
    }
    return file;
  }
  PushResult push(std::uint64_t version, const SecretKey* key = nullptr) const {
    return ok(cubinet::push(session, {bundle(version, key), "file://" + (folder / "served").string()}));
  }
  std::string reference() const { return "file://" + (folder / "served").string() + "#stable"; }
  PullOptions to_file() const {
    PullOptions options{reference()};
    options.output = (folder / "pulled.bundle").string();
    return options;
  }
  std::uint64_t pulled_version() const { return ok(pull(session, to_file())).version; }

  TempDir folder;
  SessionOptions session;
};

}  // namespace cubinet::test
