// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace cubinet::cli {

// An option or a positional argument of a verb.
struct OptionEntry {
  std::vector<std::string> names = {};    // "-o", "--output"; empty: a positional argument
  std::string value = {};                 // the name of its value, such as FILE; empty: a flag
  std::vector<std::string> choices = {};  // the values that are accepted; empty: any
  std::string description = {};
  bool required = false;
  bool repeated = false;

  // If true, the value is the name of a file or a folder.
  bool names_file() const;
};

struct VerbEntry {
  std::string words = {};  // "bundle create"; empty: the tool itself
  std::string description = {};
  std::string footer = {};                  // the text below the options, examples included
  std::vector<OptionEntry> options = {};    // without those that every verb has
  std::vector<OptionEntry> arguments = {};  // positional
  std::vector<std::string> verbs = {};      // the next word
};

// The verbs and options of the tool as data. Completions and the manual page are generated from it,
// so that they agree with the help.
struct VerbTable {
  std::vector<OptionEntry> common;  // the options of every verb
  std::vector<VerbEntry> verbs;     // in the order of the help, the tool itself first

  // Returns the names of all options that take a value, sorted, each once.
  std::vector<std::string> names_with_value() const;
};
VerbTable verb_table(const CLI::App& root);

// The group of the options that every verb has.
inline constexpr const char* kCommonOptions = "Everywhere";

}  // namespace cubinet::cli
