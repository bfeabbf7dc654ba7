// SPDX-License-Identifier: Apache-2.0
#include "hostile.hpp"
#include "session/served_channel.hpp"

#include <cubinet/report/store_sections.hpp>

using namespace cubinet;
using namespace cubinet::test;

namespace {

std::string section_of(const ServedChannel& served, const std::shared_ptr<Bundle>& bundle) {
  return ok(bundle_section(served.session, bundle, bundle, kTestNow)).content.markup();
}

}  // namespace

TEST_CASE("a bundle without a policy is not verified, and its facts are listed") {
  const ServedChannel served;
  const std::string section = section_of(served, ok(Bundle::open(served.bundle(7))));
  CHECK(contains(section, "<dt>Signed</dt><dd>Not verified</dd>"));
  CHECK(contains(section, "<dt>Builds</dt><dd>2</dd>"));
  CHECK(contains(section, "<dt>Channel</dt><dd><bdi>stable</bdi></dd>"));
  CHECK(contains(section, "<dt>Version</dt><dd>7</dd>"));
  CHECK(contains(section, "sm_80, sm_90a"));
}

TEST_CASE("a signed bundle states the key, its comment and the policy") {
  const ServedChannel served;
  const SecretKey key = ok(SecretKey::generate());
  TrustPolicy policy;
  policy.trusted_keys = {key.public_key()};
  policy.origin = "policy.json, <line 1>";
  const auto bundle = ok(Bundle::open(served.bundle(7, &key, "made by <us>"), nullptr, {}, policy));
  const std::string section = section_of(served, bundle);
  CHECK(contains(section, "<dt>Signed</dt><dd>Verified</dd><dd class=\"note\">1 of 1 signature wanted</dd>"));
  CHECK(contains(section, key.public_key().to_string()));
  CHECK(contains(section, "made by &lt;us&gt;"));
  CHECK(contains(section, "policy.json, &lt;line 1&gt;"));
}

TEST_CASE("an unsigned bundle that the policy allows is said to be unsigned") {
  const ServedChannel served;
  TrustPolicy policy;
  policy.threshold = 0;
  CHECK(contains(section_of(served, ok(Bundle::open(served.bundle(7), nullptr, {}, policy))),
                 "<dt>Signed</dt><dd>Not signed</dd>"));
}

TEST_CASE("a bundle that is out of date says so") {
  const ServedChannel served;
  const std::string file = (served.folder / "old.bundle").string();
  BundleOptions options;
  options.created = 1'000'000'000;
  options.expires = 1'700'000'000;
  ok(create_bundle(file, ServedChannel::cubins(), options));
  const std::string section = section_of(served, ok(Bundle::open(file)));
  CHECK(contains(section, "<dt>Expires</dt><dd>Expired</dd>"));
  CHECK(contains(section, "2001-09-09 01:46 UTC"));
}

TEST_CASE("a bundle with hostile names and a hostile channel is shown harmlessly") {
  const ServedChannel served;
  const std::string file = (served.folder / "hostile.bundle").string();
  std::vector<Cubin> cubins;
  for (const std::string& name : hostile_names())
    cubins.push_back(hostile_cubin(name, static_cast<std::uint8_t>(cubins.size())));
  BundleOptions options;
  options.channel = hostile_names().front();
  ok(create_bundle(file, cubins, options));
  const auto bundle = ok(Bundle::open(file));
  REQUIRE(ok(bundle->list()).size() == cubins.size());
  const std::string section = section_of(served, bundle);
  CHECK(is_harmless(section));
  CHECK(contains(section, "&lt;script&gt;document.title=&#39;ran&#39;&lt;/script&gt;"));
}
