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

BuildCandidate candidate_of(ImageTarget target, CubinOrigin origin, std::string_view build = "today") {
  BuildCandidate candidate;
  candidate.target = target;
  candidate.origin = origin;
  candidate.interface_version = 1;
  candidate.fingerprint = fake_fingerprint(build);
  candidate.digest = sha256(as_bytes(build));
  return candidate;
}

BuildRequest build_request_of(bool knows_template, bool has_compiler, bool tells_today) {
  BuildRequest build_request;
  build_request.targets = {kSpecific, kBaseline, kPtx};
  if (knows_template) {
    build_request.interface_version = 1;
    build_request.template_text = sha256(as_bytes("text"));
  }
  if (has_compiler) build_request.compiler = "here";
  if (tells_today) {
    build_request.today = {{kSpecific, fake_fingerprint("today")}, {kElsewhere, fake_fingerprint("today")}};
  }
  return build_request;
}

std::vector<BuildRequest> all_wishes() {
  return {build_request_of(true, true, true), build_request_of(true, true, false),
          build_request_of(true, false, false), build_request_of(false, true, false),
          build_request_of(false, false, false)};
}

// Every candidate that differs in what decides.
std::vector<BuildCandidate> all_candidates() {
  std::vector<BuildCandidate> candidates;
  for (const ImageTarget target : {kSpecific, kBaseline, kPtx, kElsewhere}) {
    for (const CubinOrigin origin : {CubinOrigin::compiled, CubinOrigin::bundle, CubinOrigin::imported}) {
      for (unsigned bits = 0; bits < 32; ++bits) {
        BuildCandidate candidate = candidate_of(target, origin, (bits & 1U) != 0 ? "today" : "yesterday");
        candidate.interface_version = (bits & 2U) != 0 ? 1 : 2;
        candidate.version = (bits & 4U) != 0 && origin != CubinOrigin::compiled ? 7 : 0;
        candidate.store = (bits & 8U) != 0 ? 1 : 0;
        candidate.template_text = sha256(as_bytes((bits & 16U) != 0 ? "text" : "old text"));
        candidates.push_back(candidate);
      }
    }
  }
  return candidates;
}

std::size_t place_in(const BuildRequest& build_request, const BuildCandidate& candidate) {
  std::size_t place = 0;
  while (place < build_request.targets.size() && build_request.targets[place] != candidate.target)
    ++place;
  return place;
}

bool has_own_text(const BuildRequest& build_request, const BuildCandidate& candidate) {
  return build_request.template_text == candidate.template_text ||
         build_status_of(candidate, build_request) == BuildStatus::current;
}

bool may_be_taken(const BuildRequest& build_request, const BuildCandidate& candidate) {
  return place_in(build_request, candidate) < build_request.targets.size() &&
         is_usable(build_status_of(candidate, build_request));
}

// The rules of docs/stores.md, one after the other. Positive: a goes before b; 0: no rule tells.
int decide(const BuildRequest& build_request, const BuildCandidate& a, const BuildCandidate& b) {
  const auto sooner = [](auto left, auto right) { return left < right ? 1 : (right < left ? -1 : 0); };
  if (may_be_taken(build_request, a) != may_be_taken(build_request, b))
    return may_be_taken(build_request, a) ? 1 : -1;
  if (has_own_text(build_request, a) != has_own_text(build_request, b))
    return has_own_text(build_request, a) ? 1 : -1;
  if (const int said = sooner(place_in(build_request, a), place_in(build_request, b)); said != 0) return said;
  if (const int said = sooner(build_status_of(a, build_request), build_status_of(b, build_request));
      said != 0)
    return said;
  if (const int said = sooner(b.version, a.version); said != 0) return said;
  if (const int said = sooner(a.store, b.store); said != 0) return said;
  return sooner(a.fingerprint, b.fingerprint);
}

TEST_CASE("a local build is current, stale or unchecked as far as anything here can tell") {
  const BuildCandidate built = candidate_of(kSpecific, CubinOrigin::compiled);
  const BuildCandidate older = candidate_of(kSpecific, CubinOrigin::compiled, "yesterday");
  CHECK(build_status_of(built, build_request_of(true, true, true)) == BuildStatus::current);
  CHECK(build_status_of(older, build_request_of(true, true, true)) == BuildStatus::stale);
  CHECK(build_status_of(built, build_request_of(true, true, false)) ==
        BuildStatus::stale);  // a header that cannot be read
  CHECK(build_status_of(built, build_request_of(true, false, false)) == BuildStatus::unchecked);
  CHECK(build_status_of(built, build_request_of(false, true, false)) ==
        BuildStatus::unchecked);  // no source to build
  BuildCandidate foreign = built;
  foreign.interface_version = 2;
  CHECK(build_status_of(foreign, build_request_of(true, true, true)) == BuildStatus::foreign);
  CHECK(build_status_of(foreign, build_request_of(true, false, false)) == BuildStatus::foreign);
  CHECK(build_status_of(foreign, build_request_of(false, false, false)) == BuildStatus::unchecked);
}

TEST_CASE("what was shipped stands by the interface version, whatever would be built today") {
  for (const CubinOrigin origin : {CubinOrigin::bundle, CubinOrigin::imported}) {
    BuildCandidate shipped = candidate_of(kSpecific, origin, "elsewhere");
    for (const BuildRequest& build_request : all_wishes())
      CHECK(build_status_of(shipped, build_request) == BuildStatus::shipped);
    shipped.interface_version = 2;
    for (const BuildRequest& build_request : all_wishes()) {
      CHECK(build_status_of(shipped, build_request) ==
            (build_request.interface_version ? BuildStatus::foreign : BuildStatus::shipped));
    }
  }
}

TEST_CASE("of every two candidates the rules decide which goes first") {
  const std::vector<BuildCandidate> candidates = all_candidates();
  for (const BuildRequest& build_request : all_wishes()) {
    std::size_t wrong = 0;
    for (const BuildCandidate& a : candidates) {
      for (const BuildCandidate& b : candidates) {
        const std::vector<BuildCandidate> pair{a, b};
        const auto judged = judge(build_request, pair);
        const int said = decide(build_request, a, b);
        if (said > 0 && judged[0].candidate != 0) ++wrong;
        if (said < 0 && judged[0].candidate != 1) ++wrong;
        if (judged[0].usable() != (may_be_taken(build_request, a) || may_be_taken(build_request, b))) ++wrong;
        if (judged[1].usable() != (may_be_taken(build_request, a) && may_be_taken(build_request, b))) ++wrong;
      }
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("a build from the text of the template here precedes newer bundles and better targets") {
  const BuildRequest build_request = build_request_of(true, true, true);
  BuildCandidate own = candidate_of(kBaseline, CubinOrigin::bundle, "own");
  own.template_text = *build_request.template_text;
  BuildCandidate old = candidate_of(kSpecific, CubinOrigin::bundle, "old");
  old.template_text = sha256(as_bytes("old text"));
  old.version = 9;
  const std::vector<BuildCandidate> both{old, own};
  auto judged = judge(build_request, both);
  CHECK(judged[0].candidate == 1);
  CHECK(judged[0].own_text);
  CHECK_FALSE(judged[1].own_text);
  CHECK(judged[1].usable());
  CHECK(explain(own, build_request, "") == "from a bundle, built from the text that the template has here");
  CHECK(explain(old, build_request, "").find("from another text of the template") != std::string::npos);
  // A pin is the user's choice.
  std::vector<BuildCandidate> pinned = both;
  pinned[0].preferred = true;
  CHECK(judge(build_request, pinned)[0].candidate == 0);
  // Without a template nothing is known about texts.
  CHECK(judge(build_request_of(false, true, true), both)[0].candidate == 0);
}

TEST_CASE("the answer depends on the set of candidates and not on their order") {
  std::mt19937 random(7);
  const std::vector<BuildCandidate> candidates = all_candidates();
  const auto key = [](const BuildCandidate& candidate) {
    return std::tuple(candidate.target, candidate.origin, candidate.interface_version, candidate.version,
                      candidate.fingerprint, candidate.digest.bytes, candidate.store,
                      candidate.template_text.bytes);
  };
  for (int round = 0; round < 500; ++round) {
    const std::vector<BuildRequest> build_requests = all_wishes();
    const BuildRequest& build_request =
        build_requests[static_cast<std::size_t>(round) % build_requests.size()];
    std::vector<BuildCandidate> few;
    std::sample(candidates.begin(), candidates.end(), std::back_inserter(few), 8, random);
    few.push_back(few.front());  // twice the same
    std::vector<BuildCandidate> shuffled = few;
    std::shuffle(shuffled.begin(), shuffled.end(), random);
    const auto one = judge(build_request, few);
    const auto other = judge(build_request, shuffled);
    REQUIRE(one.size() == few.size());
    for (std::size_t i = 0; i < one.size(); ++i) {
      CHECK(key(few[one[i].candidate]) == key(shuffled[other[i].candidate]));
      CHECK(one[i].usable() == other[i].usable());
    }
  }
}

TEST_CASE("a build that is taken away leaves the order of the others as it was") {
  const std::vector<BuildCandidate> candidates = all_candidates();
  const BuildRequest build_request = build_request_of(true, true, true);
  const auto all = judge(build_request, candidates);
  std::vector<BuildCandidate> rest = candidates;
  rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(all[0].candidate));
  const auto judged = judge(build_request, rest);
  for (std::size_t i = 0; i < judged.size(); ++i) {
    const std::size_t before = judged[i].candidate + (judged[i].candidate >= all[0].candidate ? 1 : 0);
    CHECK(before == all[i + 1].candidate);
  }
}

TEST_CASE("while a channel is pinned, builds of other bundles go behind all others that are usable") {
  const BuildRequest build_request = build_request_of(true, true, true);
  BuildCandidate pinned = candidate_of(kBaseline, CubinOrigin::bundle, "old");
  pinned.version = 1;
  pinned.preferred = true;
  BuildCandidate newer = candidate_of(kSpecific, CubinOrigin::bundle, "new");
  newer.version = 2;
  BuildCandidate stale_pin = pinned;
  stale_pin.interface_version = 8;
  const BuildCandidate local = candidate_of(kSpecific, CubinOrigin::compiled);
  const auto first = [&](const std::vector<BuildCandidate>& candidates) {
    return judge(build_request, candidates).front().candidate;
  };
  CHECK(first({newer, pinned}) == 1);
  CHECK(first({newer, stale_pin}) == 0);  // its build is of no use
  CHECK(first({newer, pinned, local}) == 2);
  const auto judged = judge(build_request, std::vector<BuildCandidate>{newer, pinned});
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
  const BuildCandidate candidate = BuildCandidate::of(record, 3);
  CHECK(candidate.target == ImageTarget{record.target, record.kind});
  CHECK(candidate.origin == CubinOrigin::bundle);
  CHECK(candidate.interface_version == record.interface_version);
  CHECK(candidate.version == 9);
  CHECK(candidate.fingerprint == fake_fingerprint("word"));
  CHECK(candidate.digest == record.digest);
  CHECK(candidate.store == 3);
}

TEST_CASE("a status is said with what decides it") {
  const BuildRequest build_request = build_request_of(true, true, true);
  CHECK(explain(candidate_of(kSpecific, CubinOrigin::compiled), build_request, "here").find("today") !=
        std::string::npos);
  CHECK(explain(candidate_of(kSpecific, CubinOrigin::compiled, "other"), build_request, "there") ==
        "stale: built by there; the compiler here is here");
  CHECK(explain(candidate_of(kSpecific, CubinOrigin::compiled, "other"), build_request, "here")
            .find("another text") != std::string::npos);
  CHECK(explain(candidate_of(kSpecific, CubinOrigin::bundle), build_request, "here").find("bundle") !=
        std::string::npos);
  CHECK(explain(candidate_of(kSpecific, CubinOrigin::imported), build_request, "here").find("imported") !=
        std::string::npos);
  BuildCandidate foreign = candidate_of(kSpecific, CubinOrigin::bundle);
  foreign.interface_version = 8;
  CHECK(explain(foreign, build_request, "here").find("interface version 8") != std::string::npos);
  CHECK(explain(candidate_of(kSpecific, CubinOrigin::compiled), build_request_of(true, false, false), "here")
            .find("no compiler") != std::string::npos);
  CHECK(explain(candidate_of(kSpecific, CubinOrigin::compiled), build_request_of(false, false, false), "here")
            .find("no template") != std::string::npos);
}

}  // namespace
}  // namespace cubinet::test
