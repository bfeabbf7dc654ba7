// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>
#include <cubinet/spec/image_target.hpp>
#include <cubinet/spec/sm_target.hpp>

#include <CLI/App.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet::cli {

// Parses the whole text as a decimal number within [minimum, maximum]. The only sign is '-', and
// blanks are not allowed. `what` names the text in the message.
Result<std::int64_t> parse_integer(std::string_view text, std::string_view what, std::int64_t minimum,
                                   std::int64_t maximum);

// Parses a number of bytes: a decimal number and optionally one of K, M, G, T (powers of 1024).
Result<std::uint64_t> parse_size(std::string_view text, std::string_view what);

// Parses lists such as "sm_90a,sm_100f". Returns each target once, in the order given. Returns
// invalid_argument for an empty name.
Result<std::vector<SmTarget>> parse_targets(const std::vector<std::string>& lists);
// Like parse_targets, for lists that may contain PTX: "sm_90a,compute_80".
Result<std::vector<ImageTarget>> parse_image_targets(const std::vector<std::string>& lists);

// Adds an option whose value is an integer within [minimum, maximum].
template <class Integer>
CLI::Option* add_integer(CLI::App& app, const std::string& names, Integer& value, std::int64_t minimum,
                         std::int64_t maximum, const std::string& help) {
  const auto store = [&value, names, minimum, maximum](const std::string& text) {
    const auto parsed = parse_integer(text, names, minimum, maximum);
    if (!parsed) throw CLI::ValidationError(parsed.error().message);
    value = static_cast<Integer>(*parsed);
  };
  return app.add_option_function<std::string>(names, store, help)->type_name("N");
}

// Adds an option that may be repeated; each occurrence takes exactly one value.
CLI::Option* add_list(CLI::App& app, const std::string& names, std::vector<std::string>& values,
                      const std::string& type, const std::string& help);
// Adds an option whose value must not be empty.
CLI::Option* add_text(CLI::App& app, const std::string& names, std::string& value, const std::string& type,
                      const std::string& help);

// Returns the first of the unexpected arguments that is an option, or the end if there is none.
// Arguments after "--" are not options.
std::vector<std::string>::const_iterator first_option(const std::vector<std::string>& extras);

// Returns the message for a line that `app` could not parse. An unknown option is reported before
// other errors, such as a missing option. Unexpected arguments are in the line's order.
std::string message_of(const CLI::ParseError& error, const CLI::App& app);

// Returns the text as one word of a shell's command line, in single quotes if it needs them.
std::string shell_quoted(std::string_view text);

}  // namespace cubinet::cli
