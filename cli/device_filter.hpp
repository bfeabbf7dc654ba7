// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "attention_arguments.hpp"
#include "context.hpp"

#include <cubinet/cubin_registry/store.hpp>

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace cubinet::cli {

// --device, --sm-count and --problems: what one device needs of a store. Of problems, one a line in the
// options of `select attention`, that is what `select` names for them; without, all that the device can use.
struct DeviceFilter {
  DeviceArguments device;
  std::string problems;

  bool empty() const { return device.device.empty(); }
};
void add_device_filter(CLI::App& verb, DeviceFilter& filter);

// The same, read and checked.
struct DeviceWish {
  struct Problem {
    std::string line;
    AttentionProblem problem;
  };
  DeviceFacts device;  // without multiprocessors where there are no problems
  std::vector<Problem> problems;
};
// invalid_argument names the line that is no problem, or what else is wrong.
Result<DeviceWish> device_wish_of(const Context& context, const DeviceFilter& filter);

// A line of the file that no kernel of a store serves, and why.
struct UnservedProblem {
  std::string line;
  std::string reason;
};
struct DeviceChoice {
  CubinRecords records;
  std::vector<UnservedProblem> unserved;
};
// Of `records`, which `store` lists, in their order. What follows a selected kernel (its reduction) is chosen
// where the store has it.
Result<DeviceChoice> choose_for_device(const Context& context, const DeviceWish& wish,
                                       const std::shared_ptr<Store>& store, CubinRecords records);

// "\nnot served: LINE: REASON" for each.
std::string unserved_text(const std::vector<UnservedProblem>& unserved);
nlohmann::json describe(const std::vector<UnservedProblem>& unserved);

}  // namespace cubinet::cli
