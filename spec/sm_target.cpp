// SPDX-License-Identifier: Apache-2.0
#include <cubinet/spec/sm_target.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

namespace cubinet {
namespace {

enum class Matching { by_major, exact_only };

// A row per compute capability. `family_floor` is the lowest minor whose family code (sm_XYf) this
// device runs (Programming Guide Table 28), or nullopt before families existed. `shared_bytes` is
// the opt-in limit per block.
struct CapabilityRow {
  ComputeCapability capability;
  Matching matching;
  bool has_specific;
  std::optional<std::uint16_t> family_floor;
  std::uint32_t shared_bytes;
};

constexpr std::uint32_t kKiB = 1024;

constexpr std::array<CapabilityRow, 13> kCapabilities = {{
    {{7, 5}, Matching::by_major, false, std::nullopt, 64 * kKiB},
    {{8, 0}, Matching::by_major, false, std::nullopt, 163 * kKiB},
    {{8, 6}, Matching::by_major, false, std::nullopt, 99 * kKiB},
    {{8, 7}, Matching::exact_only, false, std::nullopt, 163 * kKiB},
    {{8, 8}, Matching::exact_only, false, std::nullopt, 163 * kKiB},
    {{8, 9}, Matching::by_major, false, std::nullopt, 99 * kKiB},
    {{9, 0}, Matching::by_major, true, std::nullopt, 227 * kKiB},
    {{10, 0}, Matching::by_major, true, 0, 227 * kKiB},
    {{10, 3}, Matching::by_major, true, 0, 227 * kKiB},
    {{10, 7}, Matching::by_major, true, 0, 227 * kKiB},
    {{11, 0}, Matching::by_major, true, 0, 227 * kKiB},
    {{12, 0}, Matching::by_major, true, 0, 99 * kKiB},
    {{12, 1}, Matching::by_major, true, 0, 99 * kKiB},
}};

const CapabilityRow* row_of(ComputeCapability capability) {
  for (const CapabilityRow& row : kCapabilities) {
    if (row.capability == capability) return &row;
  }
  return nullptr;
}

std::vector<SmTarget> list_targets() {
  std::vector<SmTarget> targets;
  for (const CapabilityRow& row : kCapabilities) {
    const auto [major, minor] = row.capability;
    targets.push_back({major, minor, TargetKind::baseline});
    if (row.has_specific) targets.push_back({major, minor, TargetKind::specific});
    if (row.family_floor) targets.push_back({major, minor, TargetKind::family});
  }
  return targets;
}

std::string suffix_of(TargetKind kind) {
  switch (kind) {
    case TargetKind::baseline:
      return "";
    case TargetKind::specific:
      return "a";
    case TargetKind::family:
      return "f";
  }
  return "";
}

// Parses "90" as 9.0 and "103" as 10.3: the last digit is the minor. Each capability has one name,
// so "090" is invalid.
std::optional<ComputeCapability> parse_digits(std::string_view digits) {
  if (digits.size() < 2 || digits.size() > 3 || digits.front() == '0') return std::nullopt;
  if (!std::all_of(digits.begin(), digits.end(), [](unsigned char c) { return std::isdigit(c) != 0; })) {
    return std::nullopt;
  }
  unsigned major = 0;
  for (const char c : digits.substr(0, digits.size() - 1))
    major = major * 10 + static_cast<unsigned>(c - '0');
  const auto minor = static_cast<unsigned>(digits.back() - '0');
  return ComputeCapability{static_cast<std::uint16_t>(major), static_cast<std::uint16_t>(minor)};
}

std::string known_target_names() {
  std::string names;
  for (const SmTarget target : known_targets())
    names += (names.empty() ? "" : " ") + target.to_string();
  return names;
}

std::string why_unknown(std::optional<ComputeCapability> capability, TargetKind kind) {
  if (!capability) return "";
  if (capability->major == 10 && capability->minor == 1) return ": CUDA 13 renamed sm_101 to sm_110";
  const CapabilityRow* row = row_of(*capability);
  if (row == nullptr) return ": no such compute capability is known";
  if (kind == TargetKind::family) return ": family targets begin at sm_100f";
  return ": specific targets begin at sm_90a";
}

}  // namespace

Result<ComputeCapability> ComputeCapability::parse(std::string_view text) {
  std::string_view rest = text;
  if (rest.starts_with("sm_")) rest.remove_prefix(3);
  std::string digits(rest);
  if (const std::size_t dot = digits.find('.'); dot != std::string::npos && dot + 2 == digits.size()) {
    digits.erase(dot, 1);
  }
  if (const auto capability = parse_digits(digits)) return *capability;
  return Error{ErrorCode::invalid_argument,
               "'" + std::string(text.substr(0, 40)) + "' is no compute capability",
               "write it like 9.0 or sm_90"};
}

Result<ComputeCapability> ComputeCapability::parse_known(std::string_view text) {
  CUBINET_TRY_ASSIGN(const ComputeCapability capability, parse(text));
  if (row_of(capability) != nullptr) return capability;
  std::string known;
  for (const CapabilityRow& row : kCapabilities)
    known += (known.empty() ? "" : " ") + row.capability.to_string();
  return Error{ErrorCode::invalid_argument,
               "'" + std::string(text.substr(0, 40)) + "' is no known device" +
                   why_unknown(capability, TargetKind::baseline),
               "known devices: " + known};
}

std::string ComputeCapability::to_string() const {
  return std::to_string(major) + "." + std::to_string(minor);
}

Result<SmTarget> SmTarget::parse(std::string_view text) {
  std::string_view rest = text;
  if (rest.starts_with("sm_")) rest.remove_prefix(3);
  TargetKind kind = TargetKind::baseline;
  if (rest.ends_with('a')) kind = TargetKind::specific;
  if (rest.ends_with('f')) kind = TargetKind::family;
  if (kind != TargetKind::baseline) rest.remove_suffix(1);
  const auto capability = parse_digits(rest);
  if (capability) {
    const SmTarget target{capability->major, capability->minor, kind};
    const auto known = known_targets();
    if (std::find(known.begin(), known.end(), target) != known.end()) return target;
  }
  return Error{
      ErrorCode::invalid_argument,
      "'" + std::string(text.substr(0, 40)) + "' is no known SM target" + why_unknown(capability, kind),
      "known targets: " + known_target_names()};
}

std::string SmTarget::to_string() const {
  return "sm_" + std::to_string(major) + std::to_string(minor) + suffix_of(kind);
}

std::string SmTarget::compute_name() const {
  return "compute_" + std::to_string(major) + std::to_string(minor) + suffix_of(kind);
}

std::span<const SmTarget> known_targets() {
  static const std::vector<SmTarget> targets = list_targets();
  return targets;
}

bool runs_on(SmTarget target, ComputeCapability device) {
  if (target.major != device.major) return false;
  const CapabilityRow* device_row = row_of(device);
  const CapabilityRow* target_row = row_of(target.capability());
  if (target_row == nullptr) return false;
  const bool same = target.capability() == device;
  switch (target.kind) {
    case TargetKind::specific:
      return same && target_row->has_specific;
    case TargetKind::family:
      return device_row != nullptr && device_row->family_floor && target_row->family_floor &&
             target.minor >= *device_row->family_floor && target.minor <= device.minor;
    case TargetKind::baseline:
      if (same) return true;
      if (target_row->matching == Matching::exact_only) return false;
      // A device newer than the table follows the rule of its major.
      if (device_row != nullptr && device_row->matching == Matching::exact_only) return false;
      return target.minor <= device.minor;
  }
  return false;
}

std::string why_not_on(SmTarget target, ComputeCapability device) {
  if (runs_on(target, device)) return "";
  const std::string code = target.to_string() + " code ";
  const std::string here = ", and the device is " + device.to_string();
  if (target.kind == TargetKind::specific) {
    return code + "is specific to " + target.capability().to_string() + here;
  }
  if (target.major != device.major) {
    return code + "runs on devices of compute capability " + std::to_string(target.major) + ".x only" + here;
  }
  const CapabilityRow* device_row = row_of(device);
  const CapabilityRow* target_row = row_of(target.capability());
  const bool exact = (target_row != nullptr && target_row->matching == Matching::exact_only) ||
                     (device_row != nullptr && device_row->matching == Matching::exact_only);
  if (exact) {
    return code + "and devices of " + device.to_string() +
           " do not go together: Tegra's capabilities match " + "exactly only";
  }
  if (target.kind == TargetKind::family && (device_row == nullptr || !device_row->family_floor)) {
    return code + "runs on members of its family only" + here;
  }
  return code + "needs " + target.capability().to_string() + " or a later minor" + here;
}

bool ptx_runs_on(SmTarget target, ComputeCapability device) {
  switch (target.kind) {
    case TargetKind::specific:
      return target.capability() == device;
    case TargetKind::family:
      return runs_on(target, device);
    case TargetKind::baseline:
      return target.capability() <= device;
  }
  return false;
}

std::string why_ptx_not_on(SmTarget target, ComputeCapability device) {
  if (ptx_runs_on(target, device)) return "";
  std::string rule = "needs " + target.capability().to_string() + " or later";
  if (target.kind == TargetKind::specific) rule = "is specific to " + target.capability().to_string();
  if (target.kind == TargetKind::family) {
    rule = "needs a member of the family of " + target.capability().to_string() + ", that or a later one";
  }
  return target.compute_name() + " PTX " + rule + ", and the device is " + device.to_string();
}

namespace {

// Returns the targets best first: specific, family, baseline, each with the nearest capability
// first. Does not depend on the table's order.
template <class Runs>
std::vector<SmTarget> best_first(ComputeCapability device, Runs runs) {
  std::vector<SmTarget> targets;
  for (const SmTarget target : known_targets()) {
    if (runs(target, device)) targets.push_back(target);
  }
  const auto rank = [](SmTarget target) {
    return target.kind == TargetKind::specific ? 0 : target.kind == TargetKind::family ? 1 : 2;
  };
  std::sort(targets.begin(), targets.end(), [&](SmTarget a, SmTarget b) {
    if (rank(a) != rank(b)) return rank(a) < rank(b);
    return a.capability() > b.capability();
  });
  return targets;
}

}  // namespace

std::vector<SmTarget> targets_for(ComputeCapability device) {
  return best_first(device, runs_on);
}

std::vector<SmTarget> ptx_targets_for(ComputeCapability device) {
  return best_first(device, ptx_runs_on);
}

std::uint32_t maximum_shared_bytes_per_block(ComputeCapability device) {
  const CapabilityRow* row = row_of(device);
  return row == nullptr ? 0 : row->shared_bytes;
}

}  // namespace cubinet
