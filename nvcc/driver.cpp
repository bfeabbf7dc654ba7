// SPDX-License-Identifier: Apache-2.0
#include "command_line.hpp"
#include "compile_step.hpp"
#include "home_notes.hpp"
#include "nvcc_terms.hpp"
#include "own_pages.hpp"
#include "preamble.hpp"
#include "real_nvcc.hpp"

#include <cubinet/base/file_system.hpp>
#include <cubinet/base/text.hpp>
#include <cubinet/cubin_registry/home.hpp>
#include <cubinet/jit/compiler.hpp>
#include <cubinet/nvcc/driver.hpp>
#include <cubinet/session/open_stores.hpp>
#include <cubinet/session/output_file.hpp>

#include <cstdio>
#include <exception>
#include <span>

namespace cubinet::nvcc {
namespace {

constexpr int kFailed = 1;  // nvcc's status for a wrong line

void print(std::FILE* stream, std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stream);
}

// Prints to stdout and returns the exit status.
int print_all(std::string_view text) {
  print(stdout, text);
  return std::fflush(stdout) == 0 && std::ferror(stdout) == 0 ? 0 : kFailed;
}

void print_log(std::string_view log) {
  if (log.empty()) return;
  print(stderr, printable_lines(log));
  if (log.back() != '\n') print(stderr, "\n");
}

// Returns the compiler's log as nvcc prints it. NVRTC begins the second line of a ptxas message in
// another way.
std::string as_nvcc_prints(std::string log) {
  constexpr std::string_view kContinued = "\nptxas         .     ";
  constexpr std::string_view kIndented = "\n    ";
  for (std::size_t at = log.find(kContinued); at != std::string::npos; at = log.find(kContinued, at))
    log.replace(at, kContinued.size(), kIndented);
  return log;
}

int fail(const Error& error) {
  print_log(error.detail);
  print(stderr, "cubinet-nvcc: error: " + printable(in_nvcc_terms(error.message)) + "\n");
  if (!error.remedy.empty()) print(stderr, "  " + printable(in_nvcc_terms(error.remedy)) + "\n");
  return kFailed;
}

void warn(const LogRecord& record) {
  if (record.level < LogLevel::warning) return;
  print(stderr, "cubinet-nvcc: " + std::string(to_string(record.level)) + ": " +
                    printable(in_nvcc_terms(record.message)) + "\n");
}

// Returns the build of the linker that removes unused variables, to be appended to NVRTC's.
std::string linker_of(const Compiler& compiler, const CompilerSearch& search) {
  const auto linker = find_linker(compiler.location(), search);
  return linker ? "; " + linker->identity : "";
}

// Returns the notes of the home, which may be created for this.
HomeNotes open_notes(const EnvironmentVariables& environment) {
  const auto options = options_from(environment, {});
  if (!options || options->home.empty()) return HomeNotes({});
  const auto home = open_home(*options, HomeOptions::Access::read_write);
  const bool usable = home && (*home)->description().writable;
  return HomeNotes(usable ? (*home)->description().place : std::string());
}

// Returns the bytes of the output file. NVRTC ends PTX with a zero, as the driver wants it.
std::span<const std::byte> as_nvcc_writes(std::span<const std::byte> image, ImageKind kind) {
  const bool has_zero = kind == ImageKind::ptx && !image.empty() && image.back() == std::byte{0};
  return has_zero ? image.first(image.size() - 1) : image;
}

// One run of the executable.
class Driver {
 public:
  Driver(const std::vector<std::string>& arguments, const EnvironmentVariables& environment,
         const std::string& own)
      : arguments_(arguments), environment_(environment), own_(own) {}

  int run() {
    if (requests_version(arguments_)) return print_version();
    const auto page = own_page(arguments_);
    if (!page) return fail(page.error());
    if (*page) return print_all(**page);
    if (!arguments_.empty() && arguments_.front() == kPassedOption) return print_passed();
    const auto line = parsed_line();
    if (!line) return pass(line.error(), open_notes(environment_));
    return compile(*line);
  }

 private:
  Result<CompileLine> parsed_line() const {
    CUBINET_TRY_ASSIGN(const auto complete, with_environment_flags(arguments_, environment_));
    return parse_command_line(complete, environment_);
  }

  int compile(const CompileLine& line) const {
    const auto files = posix_file_system();
    const auto output = check_output_file(*files, line.output, ProtectedFiles{{line.source}, {}});
    if (!output) return pass(output.error(), open_notes(environment_));
    const auto options = options_from(environment_, warn);
    if (!options) return fail(options.error());
    HomeNotes notes({});
    const auto step = find_or_compile(line, *options, notes);
    if (!step) return fail(step.error());
    if (step->refused) return pass(*step->refused, notes, step->fingerprint);
    print_log(as_nvcc_prints(step->log));
    const auto written = write_file_atomically(*files, *output, as_nvcc_writes(*step->image, line.kind));
    return written ? 0 : fail(written.error());
  }

  // Passes the line to nvcc. If there is none, fails with the reason. `fingerprint` is of a build
  // that NVRTC has refused just now.
  int pass(const Error& reason, const HomeNotes& notes,
           const std::optional<BuildFingerprint>& fingerprint = {}) const {
    const auto nvcc = find_real_nvcc(environment_, own_);
    if (!nvcc) {
      Error error = reason;
      error.message = "this line is for nvcc: " + error.message + "; " + nvcc.error().message;
      error.remedy = nvcc.error().remedy;
      return fail(error);
    }
    // A failure to count is no reason not to compile.
    static_cast<void>(notes.count(reason.message));
    std::fflush(stdout);
    if (!fingerprint) return fail(become_real_nvcc(*nvcc, arguments_, environment_));
    const auto status = run_real_nvcc(*nvcc, arguments_, environment_);
    if (!status) return fail(status.error());
    if (*status == 0) static_cast<void>(notes.add_refusal(*fingerprint, reason.message));
    return *status;
  }

  // Prints the version in nvcc's form. Callers put it into the keys of their own caches, so it also
  // states everything that determines the image: the builds of NVRTC and of the linker, and the
  // preamble. Some callers search for three numbers behind the last V of the text.
  int print_version() const {
    const auto options = options_from(environment_, {});
    if (!options) return fail(options.error());
    const auto compiler = Compiler::open(compiler_search(*options));
    if (!compiler) return pass(compiler.error(), open_notes(environment_));
    const std::string& identity = (*compiler)->identity();  // "NVRTC 13.0, build ..."
    const std::size_t begin = identity.find(' ') + 1;
    const std::string release = identity.substr(begin, identity.find(',') - begin);
    const std::string preamble = preamble_digest().substr(0, 16);
    return print_all("cubinet-nvcc: compiles with NVRTC in place of nvcc\ncubinet " CUBINET_VERSION "\n" +
                     identity + linker_of(**compiler, compiler_search(*options)) + "; preamble " + preamble +
                     "\nCuda compilation tools, release " + release + ", V" + release + ".0\nBuild cuda_" +
                     release + ".r" + release + "/cubinet." + preamble + "\n");
  }

  int print_passed() const {
    const auto counts = open_notes(environment_).counts();
    if (!counts) return fail(counts.error());
    std::string list;
    for (const auto& [reason, count] : *counts)
      list += std::to_string(count) + "  " + reason + "\n";
    return print_all(list);
  }

  const std::vector<std::string>& arguments_;
  const EnvironmentVariables& environment_;
  const std::string& own_;
};

}  // namespace

int run(const std::vector<std::string>& arguments, const EnvironmentVariables& environment,
        const std::string& own) {
  try {
    return Driver(arguments, environment, own).run();
  } catch (const std::bad_alloc&) {
    print(stderr, "cubinet-nvcc: error: the memory does not suffice for this\n");
  } catch (const std::exception& exception) {
    print(stderr, std::string("cubinet-nvcc: error: internal error: ") + exception.what() + "\n");
  }
  return kFailed;
}

}  // namespace cubinet::nvcc
