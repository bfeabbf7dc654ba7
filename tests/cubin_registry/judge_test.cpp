// SPDX-License-Identifier: Apache-2.0
#include "support/fake_cubin.hpp"

#include <cubinet/cubin_registry/judge.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

namespace cubinet::test {
namespace {

constexpr ImageTarget kSpecific{{9, 0, TargetKind::specific}, ImageKind::cubin};
constexpr ImageTarget kBaseline{{9, 0, TargetKind::baseline}, ImageKind::cubin};
constexpr ImageTarget kPtx{{8, 0, TargetKind::baseline}, ImageKind::ptx};
constexpr ImageTarget kElsewhere{{10, 0, TargetKind::specific}, ImageKind::cubin};

Offer offer_of(ImageTarget target, CubinOrigin origin, std::string_view build = "today") {
  Offer offer;
  offer.target = target;
  offer.origin = origin;
  offer.interface_version = 1;
  offer.fingerprint = fake_fingerprint(build);
  offer.digest = sha256(as_bytes(build));
  return offer;
}

Wish wish_of(bool knows_template, bool has_compiler, bool tells_today) {
  Wish wish;
  wish.targets = {kSpecific, kBaseline, kPtx};
  if (knows_template) wish.interface_version = 1;
  if (has_compiler) wish.compiler = "here";
  if (tells_today) {
    wish.today = {{kSpecific, fake_fingerprint("today")}, {kElsewhere, fake_fingerprint("today")}};
  }
  return wish;
}

std::vector<Wish> all_wishes() {
  return {wish_of(true, true, true), wish_of(true, true, false), wish_of(true, false, false),
          wish_of(false, true, false), wish_of(false, false, false)};
}

// Every offer that differs in what decides.
std::vector<Offer> all_offers() {
  std::vector<Offer> offers;
  for (const ImageTarget target : {kSpecific, kBaseline, kPtx, kElsewhere}) {
    for (const CubinOrigin origin : {CubinOrigin::compiled, CubinOrigin::bundle, CubinOrigin::imported}) {
      for (unsigned bits = 0; bits < 16; ++bits) {
        Offer offer = offer_of(target, origin, (bits & 1U) != 0 ? "today" : "yesterday");
        offer.interface_version = (bits & 2U) != 0 ? 1 : 2;
        offer.version = (bits & 4U) != 0 && origin != CubinOrigin::compiled ? 7 : 0;
        offer.store = (bits & 8U) != 0 ? 1 : 0;
        offers.push_back(offer);
      }
    }
  }
  return offers;
}

std::size_t place_in(const Wish& wish, const Offer& offer) {
  std::size_t place = 0;
  while (place < wish.targets.size() && wish.targets[place] != offer.target)
    ++place;
  return place;
}

bool may_be_taken(const Wish& wish, const Offer& offer) {
  return place_in(wish, offer) < wish.targets.size() && is_usable(standing_of(offer, wish));
}

// The rules of docs/stores.md, one after the other. Positive: a goes before b; 0: no rule tells.
int decide(const Wish& wish, const Offer& a, const Offer& b) {
  const auto sooner = [](auto left, auto right) { return left < right ? 1 : (right < left ? -1 : 0); };
  if (may_be_taken(wish, a) != may_be_taken(wish, b)) return may_be_taken(wish, a) ? 1 : -1;
  if (const int said = sooner(place_in(wish, a), place_in(wish, b)); said != 0) return said;
  if (const int said = sooner(standing_of(a, wish), standing_of(b, wish)); said != 0) return said;
  if (const int said = sooner(b.version, a.version); said != 0) return said;
  if (const int said = sooner(a.store, b.store); said != 0) return said;
  return sooner(a.fingerprint, b.fingerprint);
}

TEST_CASE("a local build is current, stale or unchecked as far as anything here can tell") {
  const Offer built = offer_of(kSpecific, CubinOrigin::compiled);
  const Offer older = offer_of(kSpecific, CubinOrigin::compiled, "yesterday");
  CHECK(standing_of(built, wish_of(true, true, true)) == Standing::current);
  CHECK(standing_of(older, wish_of(true, true, true)) == Standing::stale);
  CHECK(standing_of(built, wish_of(true, true, false)) == Standing::stale);  // a header that cannot be read
  CHECK(standing_of(built, wish_of(true, false, false)) == Standing::unchecked);
  CHECK(standing_of(built, wish_of(false, true, false)) == Standing::unchecked);  // no source to build
  Offer foreign = built;
  foreign.interface_version = 2;
  CHECK(standing_of(foreign, wish_of(true, true, true)) == Standing::foreign);
  CHECK(standing_of(foreign, wish_of(true, false, false)) == Standing::foreign);
  CHECK(standing_of(foreign, wish_of(false, false, false)) == Standing::unchecked);
}

TEST_CASE("what was shipped stands by the interface version, whatever would be built today") {
  for (const CubinOrigin origin : {CubinOrigin::bundle, CubinOrigin::imported}) {
    Offer shipped = offer_of(kSpecific, origin, "elsewhere");
    for (const Wish& wish : all_wishes())
      CHECK(standing_of(shipped, wish) == Standing::shipped);
    shipped.interface_version = 2;
    for (const Wish& wish : all_wishes()) {
      CHECK(standing_of(shipped, wish) == (wish.interface_version ? Standing::foreign : Standing::shipped));
    }
  }
}

TEST_CASE("of every two offers the rules decide which goes first") {
  const std::vector<Offer> offers = all_offers();
  for (const Wish& wish : all_wishes()) {
    std::size_t wrong = 0;
    for (const Offer& a : offers) {
      for (const Offer& b : offers) {
        const std::vector<Offer> pair{a, b};
        const auto judged = judge(wish, pair);
        const int said = decide(wish, a, b);
        if (said > 0 && judged[0].offer != 0) ++wrong;
        if (said < 0 && judged[0].offer != 1) ++wrong;
        if (judged[0].usable() != (may_be_taken(wish, a) || may_be_taken(wish, b))) ++wrong;
        if (judged[1].usable() != (may_be_taken(wish, a) && may_be_taken(wish, b))) ++wrong;
      }
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("the answer depends on the set of offers and not on their order") {
  std::mt19937 random(7);
  const std::vector<Offer> offers = all_offers();
  const auto key = [](const Offer& offer) {
    return std::tuple(offer.target, offer.origin, offer.interface_version, offer.version, offer.fingerprint,
                      offer.digest.bytes, offer.store);
  };
  for (int round = 0; round < 500; ++round) {
    const std::vector<Wish> wishes = all_wishes();
    const Wish& wish = wishes[static_cast<std::size_t>(round) % wishes.size()];
    std::vector<Offer> few;
    std::sample(offers.begin(), offers.end(), std::back_inserter(few), 8, random);
    few.push_back(few.front());  // twice the same
    std::vector<Offer> shuffled = few;
    std::shuffle(shuffled.begin(), shuffled.end(), random);
    const auto one = judge(wish, few);
    const auto other = judge(wish, shuffled);
    REQUIRE(one.size() == few.size());
    for (std::size_t i = 0; i < one.size(); ++i) {
      CHECK(key(few[one[i].offer]) == key(shuffled[other[i].offer]));
      CHECK(one[i].usable() == other[i].usable());
    }
  }
}

TEST_CASE("a build that is taken away leaves the order of the others as it was") {
  const std::vector<Offer> offers = all_offers();
  const Wish wish = wish_of(true, true, true);
  const auto all = judge(wish, offers);
  std::vector<Offer> rest = offers;
  rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(all[0].offer));
  const auto judged = judge(wish, rest);
  for (std::size_t i = 0; i < judged.size(); ++i) {
    const std::size_t before = judged[i].offer + (judged[i].offer >= all[0].offer ? 1 : 0);
    CHECK(before == all[i + 1].offer);
  }
}

TEST_CASE("while a channel is pinned, builds of other bundles go behind all others that are usable") {
  const Wish wish = wish_of(true, true, true);
  Offer pinned = offer_of(kBaseline, CubinOrigin::bundle, "old");
  pinned.version = 1;
  pinned.preferred = true;
  Offer newer = offer_of(kSpecific, CubinOrigin::bundle, "new");
  newer.version = 2;
  Offer stale_pin = pinned;
  stale_pin.interface_version = 8;
  const Offer local = offer_of(kSpecific, CubinOrigin::compiled);
  const auto first = [&](const std::vector<Offer>& offers) { return judge(wish, offers).front().offer; };
  CHECK(first({newer, pinned}) == 1);
  CHECK(first({newer, stale_pin}) == 0);  // its build is of no use
  CHECK(first({newer, pinned, local}) == 2);
  const auto judged = judge(wish, std::vector<Offer>{newer, pinned});
  CHECK_FALSE(judged[0].held_back);
  CHECK(judged[1].held_back);
  CHECK(judged[1].usable());
  newer.preferred = true;
  CHECK(first({newer, pinned}) == 0);
}

TEST_CASE("targets are wanted machine code first, and none that the policy refuses") {
  const ComputeCapability device{10, 3};
  TargetPolicy policy;
  const auto all = targets_wanted(device, policy);
  REQUIRE(all.size() > 4);
  CHECK(all.front().to_string() == "sm_103a");
  CHECK(std::is_sorted(all.begin(), all.end(), [](ImageTarget a, ImageTarget b) { return a.kind < b.kind; }));
  policy.pinned = SmTarget{10, 0, TargetKind::family};
  CHECK(targets_wanted(device, policy) ==
        std::vector<ImageTarget>{{*policy.pinned, ImageKind::cubin}, {*policy.pinned, ImageKind::ptx}});
}

TEST_CASE("what a record says becomes what is judged") {
  const Cubin cubin = make_cubin(KernelSpec{"scale", {}}, {}, "word");
  CubinRecord record = *cubin.record;
  record.origin = CubinOrigin::bundle;
  record.version = 9;
  const Offer offer = Offer::of(record, 3);
  CHECK(offer.target == ImageTarget{record.target, record.kind});
  CHECK(offer.origin == CubinOrigin::bundle);
  CHECK(offer.interface_version == record.interface_version);
  CHECK(offer.version == 9);
  CHECK(offer.fingerprint == fake_fingerprint("word"));
  CHECK(offer.digest == record.digest);
  CHECK(offer.store == 3);
}

TEST_CASE("a standing is said with what decides it") {
  const Wish wish = wish_of(true, true, true);
  CHECK(explain(offer_of(kSpecific, CubinOrigin::compiled), wish, "here").find("today") != std::string::npos);
  CHECK(explain(offer_of(kSpecific, CubinOrigin::compiled, "other"), wish, "there") ==
        "stale: built by there; the compiler here is here");
  CHECK(explain(offer_of(kSpecific, CubinOrigin::compiled, "other"), wish, "here").find("another text") !=
        std::string::npos);
  CHECK(explain(offer_of(kSpecific, CubinOrigin::bundle), wish, "here").find("bundle") != std::string::npos);
  CHECK(explain(offer_of(kSpecific, CubinOrigin::imported), wish, "here").find("imported") !=
        std::string::npos);
  Offer foreign = offer_of(kSpecific, CubinOrigin::bundle);
  foreign.interface_version = 8;
  CHECK(explain(foreign, wish, "here").find("interface version 8") != std::string::npos);
  CHECK(explain(offer_of(kSpecific, CubinOrigin::compiled), wish_of(true, false, false), "here")
            .find("no compiler") != std::string::npos);
  CHECK(explain(offer_of(kSpecific, CubinOrigin::compiled), wish_of(false, false, false), "here")
            .find("no template") != std::string::npos);
}

}  // namespace
}  // namespace cubinet::test
