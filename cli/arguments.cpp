// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"

#include <cubinet/base/text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

namespace cubinet::cli {

Result<std::int64_t> parse_integer(std::string_view text, std::string_view what, std::int64_t minimum,
                                   std::int64_t maximum) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, status] = std::from_chars(text.data(), end, value);
  const bool number = status != std::errc::invalid_argument && stop == end;
  if (number && status == std::errc{} && value >= minimum && value <= maximum) return value;
  return Error{ErrorCode::invalid_argument, fmt::format("{}: '{}' is not an integer from {} to {}", what,
                                                        text.substr(0, 40), minimum, maximum)};
}

Result<std::uint64_t> parse_size(std::string_view text, std::string_view what) {
  std::string_view digits = text;
  unsigned shift = 0;
  if (!digits.empty()) {
    const std::size_t unit = std::string_view("KMGT").find(digits.back());
    if (unit != std::string_view::npos) {
      shift = 10 * (static_cast<unsigned>(unit) + 1);
      digits.remove_suffix(1);
    }
  }
  const auto number = parse_integer(digits, what, 1, std::numeric_limits<std::int64_t>::max() >> shift);
  if (!number) {
    return Error{ErrorCode::invalid_argument, fmt::format("{}: '{}' is not a size", what, text.substr(0, 40)),
                 "write a number of bytes, or one followed by K, M, G or T"};
  }
  return static_cast<std::uint64_t>(*number) << shift;
}

namespace {

template <class Target>
Result<std::vector<Target>> parse_target_lists(const std::vector<std::string>& lists) {
  std::vector<Target> targets;
  for (const std::string& list : lists) {
    std::string_view rest = list;
    while (true) {
      const std::size_t comma = rest.find(',');
      CUBINET_TRY_ASSIGN(const Target target, Target::parse(rest.substr(0, comma)));
      if (std::find(targets.begin(), targets.end(), target) == targets.end()) targets.push_back(target);
      if (comma == std::string_view::npos) break;
      rest.remove_prefix(comma + 1);
    }
  }
  return targets;
}

}  // namespace

Result<std::vector<SmTarget>> parse_targets(const std::vector<std::string>& lists) {
  return parse_target_lists<SmTarget>(lists);
}

Result<std::vector<ImageTarget>> parse_image_targets(const std::vector<std::string>& lists) {
  return parse_target_lists<ImageTarget>(lists);
}

CLI::Option* add_list(CLI::App& app, const std::string& names, std::vector<std::string>& values,
                      const std::string& type, const std::string& help) {
  return app.add_option(names, values, help)->type_name(type)->allow_extra_args(false);
}

CLI::Option* add_text(CLI::App& app, const std::string& names, std::string& value, const std::string& type,
                      const std::string& help) {
  const auto store = [&value, names](const std::string& text) {
    if (text.empty()) throw CLI::ValidationError(names + ": the value is empty");
    value = text;
  };
  return app.add_option_function<std::string>(names, store, help)->type_name(type);
}

std::vector<std::string>::const_iterator first_option(const std::vector<std::string>& extras) {
  const auto end = std::find(extras.begin(), extras.end(), "--");
  const auto option = std::find_if(
      extras.begin(), end, [](const std::string& extra) { return extra.size() > 1 && extra.front() == '-'; });
  return option == end ? extras.end() : option;
}

std::string message_of(const CLI::ParseError& error, const CLI::App& app) {
  const std::vector<std::string> extras = app.remaining(true);  // what() lists them in reverse
  const bool unexpected =
      dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr || first_option(extras) != extras.end();
  if (!unexpected) return error.what();
  return fmt::format("The following argument{} not expected: {}", extras.size() == 1 ? " was" : "s were",
                     join(extras, " "));
}

std::string shell_quoted(std::string_view text) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-./=+:,@%").find(c) != std::string_view::npos;
  };
  if (!text.empty() && std::all_of(text.begin(), text.end(), plain)) return std::string(text);
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

}  // namespace cubinet::cli
