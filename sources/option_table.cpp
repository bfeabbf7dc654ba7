// SPDX-License-Identifier: Apache-2.0
#include <cubinet/sources/option_table.hpp>

#include <algorithm>
#include <array>

namespace cubinet {
namespace {

using enum OptionRole;
constexpr OptionValue kNone = OptionValue::none;
constexpr OptionValue kValue = OptionValue::required;

constexpr std::string_view kHostCode = "it makes host code";
constexpr std::string_view kOtherProduct = "it makes neither a cubin nor PTX";
constexpr std::string_view kReadsFile = "it reads options from a file";
constexpr std::string_view kFiles = "it writes further files";
constexpr std::string_view kLinked = "the code is to be linked";
constexpr std::string_view kLanguage = "it states the language of the input";
constexpr std::string_view kPrints = "it prints commands";
constexpr std::string_view kDebug = "debug information names the folders of the sources";

// Options of nvcc 13.0 (`nvcc --help`). An option that is missing here is passed to nvcc.
constexpr auto kOptions = std::to_array<NvccOption>({
    {"cubin", "cubin", kNone, cubin},
    {"ptx", "ptx", kNone, ptx},
    {"output-file", "o", kValue, output},
    {"gpu-architecture", "arch", kValue, architecture},
    {"gpu-code", "code", kValue, code},
    {"generate-code", "gencode", kValue, generate_code},
    {"include-path", "I", kValue, include_folder},
    {"system-include", "isystem", kValue, system_folder},
    {"define-macro", "D", kValue, define},
    {"undefine-macro", "U", kValue, undefine},

    {"std", "std", kValue, nvrtc},
    {"use_fast_math", "use_fast_math", kNone, nvrtc},
    {"ftz", "ftz", kValue, nvrtc},
    {"prec-div", "prec-div", kValue, nvrtc},
    {"prec-sqrt", "prec-sqrt", kValue, nvrtc},
    {"fmad", "fmad", kValue, nvrtc},
    {"maxrregcount", "maxrregcount", kValue, nvrtc},
    {"ptxas-options", "Xptxas", kValue, nvrtc},
    {"generate-line-info", "lineinfo", kNone, nvrtc},
    {"extra-device-vectorization", "extra-device-vectorization", kNone, nvrtc},
    {"restrict", "restrict", kNone, nvrtc},
    {"Ofast-compile", "Ofc", kValue, nvrtc},
    {"diag-suppress", "diag-suppress", kValue, nvrtc},
    {"diag-error", "diag-error", kValue, nvrtc},
    {"diag-warn", "diag-warn", kValue, nvrtc},
    {"display-error-number", "err-no", kNone, nvrtc},
    {"no-display-error-number", "no-err-no", kNone, nvrtc},
    {"disable-warnings", "w", kNone, nvrtc},
    {"resource-usage", "res-usage", kNone, ptxas_verbose},

    {"compiler-options", "Xcompiler", kValue, host_options},
    {"optimize", "O", kValue, number},
    {"compiler-bindir", "ccbin", kValue, no_effect},
    {"expt-relaxed-constexpr", "expt-relaxed-constexpr", kNone, macro, "__CUDACC_RELAXED_CONSTEXPR__"},
    {"expt-extended-lambda", "expt-extended-lambda", kNone, macro, "__CUDACC_EXTENDED_LAMBDA__"},
    {"extended-lambda", "extended-lambda", kNone, macro, "__CUDACC_EXTENDED_LAMBDA__"},
    {"allow-unsupported-compiler", "allow-unsupported-compiler", kNone, no_effect},
    {"forward-unknown-to-host-compiler", "forward-unknown-to-host-compiler", kNone, no_effect},
    {"forward-unknown-to-host-linker", "forward-unknown-to-host-linker", kNone, no_effect},
    {"Wno-deprecated-gpu-targets", "Wno-deprecated-gpu-targets", kNone, no_effect},
    {"default-stream", "default-stream", kValue, pass, "it defines a macro for the host's interface"},
    {"linker-options", "Xlinker", kValue, no_effect},
    {"nvlink-options", "Xnvlink", kValue, no_effect},
    {"archive-options", "Xarchive", kValue, no_effect},
    {"library-path", "L", kValue, no_effect},
    {"library", "l", kValue, no_effect},
    {"cudart", "cudart", kValue, no_effect},
    {"threads", "t", kValue, number},
    {"machine", "m", kValue, machine},
    {"m64", "m64", kNone, no_effect},
    {"relocatable-device-code", "rdc", kValue, relocatable},

    {"compile", "c", kNone, pass, kHostCode},
    {"cuda", "cuda", kNone, pass, kHostCode},
    {"shared", "shared", kNone, pass, kHostCode},
    {"lib", "lib", kNone, pass, kHostCode},
    {"link", "link", kNone, pass, kHostCode},
    {"run", "run", kNone, pass, kHostCode},
    {"device-link", "dlink", kNone, pass, kLinked},
    {"device-c", "dc", kNone, pass, kLinked},
    {"device-w", "dw", kNone, pass, kLinked},
    {"extensible-whole-program", "ewp", kNone, pass, kLinked},
    {"dlink-time-opt", "dlto", kNone, pass, kLinked},
    {"lto", "lto", kNone, pass, kLinked},
    {"fatbin", "fatbin", kNone, pass, kOtherProduct},
    {"ltoir", "ltoir", kNone, pass, kOtherProduct},
    {"optix-ir", "optix-ir", kNone, pass, kOtherProduct},
    {"preprocess", "E", kNone, pass, kOtherProduct},
    {"generate-dependencies", "M", kNone, pass, kOtherProduct},
    {"generate-nonsystem-dependencies", "MM", kNone, pass, kOtherProduct},
    {"generate-dependencies-with-compile", "MD", kNone, pass, kFiles},
    {"generate-nonsystem-dependencies-with-compile", "MMD", kNone, pass, kFiles},
    {"dependency-output", "MF", kValue, pass, kFiles},
    {"generate-dependency-targets", "MP", kNone, pass, kFiles},
    {"keep", "keep", kNone, pass, kFiles},
    {"keep-dir", "keep-dir", kValue, pass, kFiles},
    {"save-temps", "save-temps", kNone, pass, kFiles},
    {"time", "time", kValue, pass, kFiles},
    {"output-directory", "odir", kValue, pass, "it states the folder of the output"},
    {"options-file", "optf", kValue, pass, kReadsFile},
    {"pre-include", "include", kValue, pass, "it includes a file before the source"},
    {"x", "x", kValue, pass, kLanguage},
    {"device-debug", "G", kNone, pass, kDebug},
    {"debug", "g", kNone, pass, kDebug},
    {"dryrun", "dryrun", kNone, pass, kPrints},
    {"verbose", "v", kNone, pass, kPrints},
    {"help", "h", kNone, pass, kPrints},
});

// Options whose value may follow the letter directly.
constexpr std::string_view kJoined = "DUIOLl";

}  // namespace

std::span<const NvccOption> option_table() {
  return kOptions;
}

WrittenOption find_option(std::string_view argument) {
  const bool is_long = argument.starts_with("--");
  const std::string_view body = argument.substr(is_long ? 2 : 1);
  const std::string_view name = body.substr(0, body.find('='));
  const auto found = std::find_if(kOptions.begin(), kOptions.end(), [&](const NvccOption& option) {
    return (is_long ? option.long_name : option.short_name) == name;
  });
  if (found != kOptions.end()) {
    const bool has_value = name.size() < body.size();
    return {&*found, has_value ? body.substr(name.size() + 1) : std::string_view(), has_value};
  }
  if (is_long || body.size() < 2 || kJoined.find(body.front()) == std::string_view::npos) return {};
  if (body.front() == 'O' && body.find_first_not_of("0123456789", 1) != std::string_view::npos) return {};
  const auto joined = std::find_if(kOptions.begin(), kOptions.end(), [&](const NvccOption& option) {
    return option.short_name == body.substr(0, 1);
  });
  return {&*joined, body.substr(1), true};
}

}  // namespace cubinet
