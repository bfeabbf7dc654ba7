// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

// Returns the variables of a PTX module that must stay in its image, in order of declaration: those
// that a function or a needed variable's initial value uses, and those that the host may look up.
// The host may look up every constant (.const), managed variable and variable with external linkage
// (.visible), and `named` ones. Other variables, also weak ones, are unused.
std::vector<std::string> needed_variables(std::string_view ptx,
                                          const std::set<std::string, std::less<>>& named);

}  // namespace cubinet
