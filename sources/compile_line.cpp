// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/text.hpp>
#include <cubinet/sources/compile_line.hpp>
#include <cubinet/sources/option_table.hpp>
#include <cubinet/spec/compiler_options.hpp>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <system_error>

namespace cubinet {
namespace {

Error not_read(std::string reason) {
  return Error{ErrorCode::unsupported, std::move(reason)};
}

// Flags of every compilation. nvcc compiles functions without annotation for the host, and calls
// them from device code if they are constexpr. It has __int128.
constexpr std::array<const char*, 2> kUsualFlags = {"--device-as-default-execution-space", "--device-int128"};

// Calls `use` with each part of a list. Empty parts are included.
template <class Use>
Result<void> for_each_part(std::string_view list, char separator, const Use& use) {
  for (;;) {
    const std::size_t end = list.find(separator);
    CUBINET_TRY(use(list.substr(0, end)));
    if (end == std::string_view::npos) return {};
    list.remove_prefix(end + 1);
  }
}

Result<void> check_host_option(std::string_view option) {
  constexpr std::array<std::string_view, 6> kHarmless = {"-f", "-O", "-W", "-w", "-pipe", "-pedantic"};
  const bool harmless = option != "-fopenmp" && !option.starts_with("-fpreprocessed") &&
                        !option.starts_with("-Wp,") &&
                        std::any_of(kHarmless.begin(), kHarmless.end(),
                                    [&](std::string_view prefix) { return option.starts_with(prefix); });
  if (harmless) return {};
  return not_read("the host compiler's option '" + printable(option) + "' may concern the preprocessor");
}

// Checks a value that nvcc would split or unquote.
Result<void> check_plain(std::string_view name, std::string_view value) {
  if (value.empty()) return not_read("the value of '" + printable(name) + "' is empty");
  if (value.find_first_of(",\"'\\\n") == std::string_view::npos) return {};
  return not_read("the value of '" + printable(name) + "' has a comma, a quote or a backslash");
}

// The architecture options of a line, "sm_90a" or "compute_90a". Empty: not stated.
struct Architectures {
  std::string virtual_one;
  std::string real_one;
};

Result<SmTarget> target_named(std::string_view name) {
  const std::size_t prefix = name.starts_with("sm_") ? 3 : name.starts_with("compute_") ? 8 : 0;
  if (prefix != 0) {
    if (auto target = SmTarget::parse("sm_" + std::string(name.substr(prefix)))) return target;
  }
  return not_read("'" + printable(name) + "' is not one architecture");
}

class LineReader {
 public:
  explicit LineReader(const std::vector<std::string>& arguments) : arguments_(arguments) {}

  Result<CompileLine> read() {
    for (next_ = 0; next_ < arguments_.size();) {
      const std::string& argument = arguments_[next_++];
      if (argument.empty() || argument == "-" || argument.front() == '@')
        return not_read("the argument '" + printable(argument) + "' is neither an option nor a file");
      if (argument.front() == '-') {
        CUBINET_TRY(read_option(argument));
      } else if (line_.source.empty()) {
        line_.source = argument;
      } else {
        return not_read("it has several inputs");
      }
    }
    CUBINET_TRY(check_product());
    CUBINET_TRY(choose_target());
    line_.flags.insert(line_.flags.end(), kUsualFlags.begin(), kUsualFlags.end());
    if (auto known = parse_compiler_flags(line_.flags); !known) return not_read(known.error().message);
    add_system_folders();
    return line_;
  }

 private:
  Result<void> read_option(const std::string& argument) {
    const WrittenOption written = find_option(argument);
    const std::string name = argument.substr(0, argument.find('='));
    if (written.option == nullptr) return not_read("the option '" + printable(name) + "' is not known");
    const NvccOption& option = *written.option;
    if (option.role == OptionRole::pass)
      return not_read("the option '" + printable(name) + "': " + std::string(option.detail));
    std::string value(written.value);
    if (option.value == OptionValue::none) {
      if (written.has_value) return not_read("the option '" + printable(name) + "' has a value");
    } else if (!written.has_value) {
      if (next_ == arguments_.size()) return not_read("the value of '" + printable(name) + "' is missing");
      value = arguments_[next_++];
    }
    return apply(option, name, value);
  }

  Result<void> apply(const NvccOption& option, const std::string& name, const std::string& value) {
    const std::string long_option = "--" + std::string(option.long_name);
    switch (option.role) {
      case OptionRole::nvrtc:
        line_.flags.push_back(option.value == OptionValue::none ? long_option : long_option + "=" + value);
        return {};
      case OptionRole::ptxas_verbose:
        line_.flags.emplace_back("--ptxas-options=--verbose");
        return {};
      case OptionRole::host_options:
        return for_each_part(value, ',', check_host_option);
      case OptionRole::macro:
        add_macro("-D" + std::string(option.detail));
        return {};
      case OptionRole::define:
      case OptionRole::undefine:
        CUBINET_TRY(check_plain(name, value));
        line_.flags.push_back((option.role == OptionRole::define ? "-D" : "-U") + value);
        return {};
      case OptionRole::include_folder:
      case OptionRole::system_folder:
        CUBINET_TRY(check_plain(name, value));
        (option.role == OptionRole::include_folder ? line_.include_directories : system_folders_)
            .push_back(value);
        return {};
      case OptionRole::output:
        return set_once(line_.output, name, value);
      case OptionRole::cubin:
      case OptionRole::ptx:
        return set_product(option.role == OptionRole::ptx ? ImageKind::ptx : ImageKind::cubin);
      case OptionRole::architecture:
        return set_once(plain_.virtual_one, name, value);
      case OptionRole::code:
        return set_once(plain_.real_one, name, value);
      case OptionRole::generate_code:
        return read_generate_code(name, value);
      case OptionRole::machine:
        if (value == "64") return {};
        return not_read("the machine has " + printable(value) + " bits");
      case OptionRole::relocatable:
        if (value == "false") return {};
        return not_read("the option '" + printable(name) + "': the code is to be linked");
      case OptionRole::number:
        if (!value.empty() && value.find_first_not_of("0123456789") == std::string::npos) return {};
        return not_read("the value of '" + printable(name) + "' is no number");
      case OptionRole::no_effect:
      case OptionRole::pass:
        return {};
    }
    return {};
  }

  // NVRTC warns if a macro is defined twice.
  void add_macro(std::string flag) {
    if (std::find(line_.flags.begin(), line_.flags.end(), flag) == line_.flags.end())
      line_.flags.push_back(std::move(flag));
  }

  static Result<void> set_once(std::string& place, const std::string& name, const std::string& value) {
    if (value.empty()) return not_read("the value of '" + printable(name) + "' is empty");
    if (!place.empty() && place != value)
      return not_read("the option '" + printable(name) + "' has two values");
    place = value;
    return {};
  }

  Result<void> set_product(ImageKind kind) {
    if (product_ && *product_ != kind) return not_read("it makes a cubin and PTX");
    product_ = line_.kind = kind;
    return {};
  }

  Result<void> read_generate_code(const std::string& name, const std::string& value) {
    Architectures stated;
    CUBINET_TRY(for_each_part(value, ',', [&](std::string_view part) -> Result<void> {
      if (part.starts_with("arch=")) return set_once(stated.virtual_one, name, std::string(part.substr(5)));
      if (part.starts_with("code=")) return set_once(stated.real_one, name, std::string(part.substr(5)));
      return not_read("'" + printable(name) + "' states several architectures");
    }));
    if (generated_) return not_read("'" + printable(name) + "' states several architectures");
    generated_ = stated;
    return {};
  }

  Result<void> check_product() {
    if (!product_) return not_read("it makes neither a cubin nor PTX");
    if (line_.source.empty()) return not_read("it has no input");
    const std::filesystem::path source = line_.source;
    if (source.extension() != ".cu") return not_read("the input's name does not end in '.cu'");
    if (line_.output.empty())
      line_.output = source.stem().string() + (line_.kind == ImageKind::ptx ? ".ptx" : ".cubin");
    return {};
  }

  Result<void> choose_target() {
    const bool has_plain = !plain_.virtual_one.empty() || !plain_.real_one.empty();
    if (has_plain && generated_) return not_read("it states its architecture in two ways");
    const Architectures& stated = generated_ ? *generated_ : plain_;
    if (stated.virtual_one.empty()) return not_read("it states no architecture");
    CUBINET_TRY_ASSIGN(line_.target, target_named(stated.virtual_one));
    std::string_view product = stated.virtual_one;
    if (generated_ && stated.real_one.empty()) return not_read("it generates code without stating which");
    if (!stated.real_one.empty()) {
      if (!product.starts_with("compute_")) return not_read("it generates code from a real architecture");
      CUBINET_TRY_ASSIGN(const SmTarget real, target_named(stated.real_one));
      if (real != line_.target) return not_read("it compiles for one architecture by way of another");
      product = stated.real_one;
    }
    if (line_.kind == ImageKind::cubin && !product.starts_with("sm_"))
      return not_read("a cubin needs a real architecture");
    return {};
  }

  // The host's preprocessor ignores -I for a folder that is also a system folder.
  void add_system_folders() {
    const auto is_system = [this](const std::string& folder) {
      return std::any_of(system_folders_.begin(), system_folders_.end(), [&](const std::string& other) {
        std::error_code unknown;
        return std::filesystem::equivalent(folder, other, unknown);
      });
    };
    std::vector<std::string>& folders = line_.include_directories;
    folders.erase(std::remove_if(folders.begin(), folders.end(), is_system), folders.end());
    folders.insert(folders.end(), system_folders_.begin(), system_folders_.end());
    line_.system_directories = system_folders_.size();
  }

  const std::vector<std::string>& arguments_;
  std::size_t next_ = 0;
  CompileLine line_;
  std::optional<ImageKind> product_;
  Architectures plain_;
  std::optional<Architectures> generated_;
  std::vector<std::string> system_folders_;
};

}  // namespace

Result<CompileLine> parse_compile_line(const std::vector<std::string>& arguments) {
  return LineReader(arguments).read();
}

bool states_architecture(const std::vector<std::string>& flags) {
  return std::any_of(flags.begin(), flags.end(), [](const std::string& flag) {
    if (!flag.starts_with('-') || flag.size() < 2) return false;
    const NvccOption* option = find_option(flag).option;
    return option != nullptr &&
           (option->role == OptionRole::architecture || option->role == OptionRole::code ||
            option->role == OptionRole::generate_code);
  });
}

}  // namespace cubinet
