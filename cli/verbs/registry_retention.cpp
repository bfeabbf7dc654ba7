// SPDX-License-Identifier: Apache-2.0
// The verbs that pin kernels and limit the size of the home.
#include "registry_retention.hpp"

#include "arguments.hpp"
#include "describe.hpp"
#include "record_arguments.hpp"
#include "verbs.hpp"

#include <cubinet/base/text.hpp>

#include <fmt/format.h>

#include <set>

namespace cubinet::cli {

Result<SizeLimit> parse_limit(const std::string& high, const std::string& low) {
  SizeLimit limit;
  CUBINET_TRY_ASSIGN(limit.high, parse_size(high, "the limit"));
  limit.low = limit.high / 5 * 4;
  if (low.empty()) return limit;
  CUBINET_TRY_ASSIGN(limit.low, parse_size(low, "--low"));
  if (limit.low <= limit.high) return limit;
  return Error{ErrorCode::invalid_argument, fmt::format("--low {} is above {}", low, high),
               "name a low mark that is not above the limit"};
}

nlohmann::json describe(const std::optional<SizeLimit>& limit) {
  if (!limit) return nullptr;
  return {{"high", limit->high}, {"low", limit->low}};
}

namespace {

struct PinOptions {
  std::string kernel;
  std::vector<std::string> targets;
};
struct LimitOptions {
  std::string high;
  std::string low;
};

// Returns the keys of the kernel that is named. A key without builds may be pinned for future
// builds.
Result<std::set<KernelKey>> keys_of(Home& home, const PinOptions& options) {
  RecordArguments filter;
  filter.kernels = {options.kernel};
  filter.targets = options.targets;
  CUBINET_TRY_ASSIGN(auto listed, home.list());
  CUBINET_TRY_ASSIGN(const CubinRecords records, select_records(filter, std::move(listed)));
  CUBINET_TRY(check_one_kernel(options.kernel, records));
  std::set<KernelKey> keys;
  for (const auto& record : records)
    keys.insert(record->identity.key());
  if (const auto key = KernelKey::parse(options.kernel); keys.empty() && key) keys.insert(*key);
  return keys;
}

Result<ExitStatus> change_pins(const Context& context, const PinOptions& options, bool pin) {
  CUBINET_TRY_ASSIGN(const auto home, context.open_registry(HomeOptions::Access::read_write));
  CUBINET_TRY_ASSIGN(const auto keys, keys_of(*home, options));
  nlohmann::json changed = nlohmann::json::array();
  for (const KernelKey key : keys) {
    if (pin) {
      CUBINET_TRY(home->pin(key));
    } else {
      CUBINET_TRY_ASSIGN(const bool was, home->unpin(key));
      if (!was) continue;
    }
    changed.push_back(key.to_string());
    context.console().text(fmt::format("{}: {}", pin ? "pinned" : "no longer pinned", key.to_string()));
  }
  if (changed.empty()) {
    return context.fail(
        Error{ErrorCode::not_found,
              fmt::format(fmt::runtime(pin ? "the home holds no kernel of the key or name '{}'"
                                           : "nothing called '{}' is pinned"),
                          options.kernel),
              "`cubinet registry list` prints what it holds, and what of it is pinned"},
        ExitStatus::negative);
  }
  context.console().document(
      {{"home", home->description().place}, {"pinned", pin}, {"keys", std::move(changed)}});
  return ExitStatus::done;
}

Result<ExitStatus> show_or_set_limit(const Context& context, const LimitOptions& options) {
  const bool changes = !options.high.empty();
  if (!changes && !options.low.empty()) {
    return Error{ErrorCode::invalid_argument, "--low is said beside a limit", "name the limit too"};
  }
  std::optional<SizeLimit> wanted;
  if (changes && options.high != "none") {
    CUBINET_TRY_ASSIGN(wanted, parse_limit(options.high, options.low));
  }
  CUBINET_TRY_ASSIGN(const auto home, context.open_registry(changes ? HomeOptions::Access::read_write
                                                                    : HomeOptions::Access::read_only));
  if (changes) {
    CUBINET_TRY(home->set_limit(wanted));
  } else {
    CUBINET_TRY_ASSIGN(const HomeStats stats, home->stats());
    wanted = stats.limit;
  }
  context.console().text(wanted ? fmt::format("{}: up to {}, then down to {}",
                                              printable(home->description().place),
                                              format_bytes(wanted->high), format_bytes(wanted->low))
                                : printable(home->description().place) + ": no limit");
  context.console().document({{"home", home->description().place}, {"limit", describe(wanted)}});
  return ExitStatus::done;
}

}  // namespace

void add_registry_pin(CLI::App& registry, Action& chosen) {
  for (const bool pin : {true, false}) {
    const char* name = pin ? "pin" : "unpin";
    CLI::App* verb = registry.add_subcommand(
        name, pin ? "Keep a kernel from being evicted, builds of it to come too" : "Let it be evicted again");
    auto options = std::make_shared<PinOptions>();
    verb->add_option("KERNEL", options->kernel, "A key, or a name that is one kernel's")
        ->type_name("")
        ->required();
    add_list(*verb, "--target", options->targets, "sm_90a[,...]", "Only for these targets; may be repeated");
    verb->footer(fmt::format("Example:\n  cubinet registry {} 0123456789abcdef", name));
    choose<PinOptions>(*verb, chosen, options, [pin](const Context& context, const PinOptions& given) {
      return change_pins(context, given, pin);
    });
  }
}

void add_registry_limit(CLI::App& registry, Action& chosen) {
  CLI::App* verb = registry.add_subcommand("limit", "Print or set how much the home may hold");
  auto options = std::make_shared<LimitOptions>();
  verb->add_option("SIZE", options->high, "2G, 500M, a number of bytes; `none` takes the limit away")
      ->type_name("");
  add_text(*verb, "--low", options->low, "SIZE", "What is left when room was made; 0.8 of the limit");
  verb->footer(R"(Each publish keeps the limit: it removes the builds that were not used for the longest time.

Examples:
  cubinet registry limit 2G
  cubinet registry limit)");
  choose<LimitOptions>(*verb, chosen, options, show_or_set_limit);
}

}  // namespace cubinet::cli
