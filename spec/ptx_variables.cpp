// SPDX-License-Identifier: Apache-2.0
#include "ptx_words.hpp"

#include <cubinet/spec/ptx_variables.hpp>

#include <algorithm>
#include <map>

namespace cubinet {
namespace {

struct Variable {
  std::string_view name;
  bool needed = false;
  std::vector<std::string_view> uses;  // names in its initial value
};

bool may_be_in_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' ||
         c == '%';
}

// Calls `use` with each identifier of a word: "a" and "b" of "a+b".
template <class Use>
void for_each_name(std::string_view word, const Use& use) {
  while (!word.empty()) {
    const auto begin = std::find_if(word.begin(), word.end(), may_be_in_name);
    const auto end = std::find_if_not(begin, word.end(), may_be_in_name);
    const auto length = static_cast<std::size_t>(end - begin);
    word.remove_prefix(static_cast<std::size_t>(begin - word.begin()));
    if (length > 0) use(word.substr(0, length));
    word.remove_prefix(length);
  }
}

// Reads a module's declarations of variables. Everything else counts as a use of its names.
class VariableReader {
 public:
  explicit VariableReader(std::string_view ptx) : words_(ptx) {}

  void read() {
    std::vector<std::string_view> linkage;  // of the declaration that begins
    while (const auto word = words_.next()) {
      const bool declares = depth_ == 0 && (*word == ".global" || *word == ".const");
      if (declares) {
        read_variable(linkage, *word == ".const");
      } else {
        if (*word == "{") ++depth_;
        if (*word == "}") --depth_;
        for_each_name(*word, [&](std::string_view name) { used_.push_back(name); });
      }
      const bool is_linkage =
          *word == ".visible" || *word == ".weak" || *word == ".extern" || *word == ".common";
      if (!is_linkage) linkage.clear();
      if (is_linkage) linkage.push_back(*word);
    }
  }

  std::vector<Variable>& variables() { return variables_; }
  const std::vector<std::string_view>& used() const { return used_; }

 private:
  // Reads up to the semicolon: attributes, type, name, sizes and initial value.
  void read_variable(const std::vector<std::string_view>& linkage, bool constant) {
    Variable variable;
    variable.needed = constant || (!linkage.empty() && linkage.back() != ".weak");
    bool is_type = true;
    unsigned parentheses = 0;
    while (const auto word = words_.next()) {
      if (*word == ";") break;
      if (*word == "(") ++parentheses;
      if (*word == ")" && parentheses > 0) --parentheses;
      if (*word == ".managed") variable.needed = true;
      const bool is_name = is_type && parentheses == 0 && may_be_in_name(word->front()) &&
                           (word->front() < '0' || word->front() > '9');
      if (is_name) {
        variable.name = *word;
        is_type = false;
      } else if (!is_type) {
        for_each_name(*word, [&](std::string_view name) { variable.uses.push_back(name); });
      }
    }
    if (!variable.name.empty()) variables_.push_back(std::move(variable));
  }

  PtxWords words_;
  int depth_ = 0;
  std::vector<Variable> variables_;
  std::vector<std::string_view> used_;
};

}  // namespace

std::vector<std::string> needed_variables(std::string_view ptx,
                                          const std::set<std::string, std::less<>>& named) {
  VariableReader reader(ptx);
  reader.read();
  std::map<std::string_view, Variable*> by_name;
  for (Variable& variable : reader.variables())
    by_name.emplace(variable.name, &variable);
  std::vector<std::string_view> pending = reader.used();
  for (const Variable& variable : reader.variables()) {
    if (variable.needed || named.contains(variable.name)) pending.push_back(variable.name);
  }
  std::set<std::string_view> seen;
  while (!pending.empty()) {
    const std::string_view name = pending.back();
    pending.pop_back();
    const auto found = by_name.find(name);
    if (found == by_name.end() || !seen.insert(name).second) continue;
    found->second->needed = true;
    pending.insert(pending.end(), found->second->uses.begin(), found->second->uses.end());
  }
  std::vector<std::string> needed;
  for (const Variable& variable : reader.variables()) {
    if (seen.contains(variable.name)) needed.emplace_back(variable.name);
  }
  return needed;
}

}  // namespace cubinet
