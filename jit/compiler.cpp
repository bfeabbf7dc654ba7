// SPDX-License-Identifier: Apache-2.0
#include "bundled_headers.hpp"
#include "closure_cache.hpp"
#include "compile_flags.hpp"
#include "compile_job.hpp"
#include "compiler_identity.hpp"
#include "compiler_search.hpp"
#include "header_macros.hpp"
#include "include_closure.hpp"
#include "include_scanner.hpp"
#include "link_job.hpp"
#include "linker_search.hpp"

#include <cubinet/base/fork_guard.hpp>
#include <cubinet/base/sha256_hasher.hpp>
#include <cubinet/jit/compiler.hpp>
#include <cubinet/jit/prepared_request.hpp>

#include <algorithm>
#include <cstdlib>
#include <mutex>

namespace cubinet {
namespace {

// Raised whenever fingerprints are made of other fields: none made before equals one made after.
constexpr std::string_view kFingerprintVersion = "2";

constexpr NvrtcVersion kFirstWithHeaders{13, 3};  // within it

ForkHazard nvrtc_library;

Result<ForkHazard::Stay> enter_nvrtc() {
  auto stay = nvrtc_library.enter();
  if (stay) return stay;
  return Error{
      ErrorCode::unavailable,
      "nothing can be compiled in this process: another thread was inside NVRTC when it was forked, "
      "and NVRTC's locks stay held",
      "start workers by exec (spawn), or fork while nothing is compiled; what a store holds is found"};
}

// The one variable that changes what NVRTC makes (13.0, 13.5): the dialect of its intermediate code, and with
// it the machine code. No environment is a part of a fingerprint.
Result<void> check_environment() {
  constexpr const char* kDialect = "NV_NVVM_VERSION";
  if (std::getenv(kDialect) == nullptr) return {};
  return Error{ErrorCode::unavailable,
               std::string("the environment sets ") + kDialect +
                   ", by which NVRTC would make other code than it does elsewhere",
               std::string("unset ") + kDialect};
}

class NvrtcCompiler final : public Compiler {
 public:
  NvrtcCompiler(CompilerCandidate location, std::string identity, CompilerSearch search)
      : location_(std::move(location)),
        identity_(std::move(identity)),
        search_(std::move(search)),
        toolkit_directories_(header_folders(location_)) {
    const auto version = version_by_file_name(location_);
    const bool has_headers = version && *version >= kFirstWithHeaders;
    if (search_.bundled_headers && has_headers && !are_complete(toolkit_directories_))
      bundled_.emplace(*search_.bundled_headers, identity_);
  }

  const CompilerCandidate& location() const override { return location_; }
  const std::string& identity() const override { return identity_; }

  Result<BuildFingerprint> fingerprint(const CompileRequest& given) override {
    if (!given.resolved) {
      CUBINET_TRY_ASSIGN(const CompileRequest request, checked(given));
      return fingerprint(request);
    }
    CUBINET_TRY_ASSIGN(const Sha256Digest inputs,
                       inputs_digest(given.kernel_template, given.spec, given.options));
    CUBINET_TRY_ASSIGN(const std::string header, given.kernel_template->parameters_header(given.spec));
    return fingerprint_of(*given.kernel_template, code_flags(given), inputs, header);
  }

  Result<BuildFingerprint> fingerprint(const PreparedRequest& request, SmTarget target,
                                       ImageKind kind) override {
    CUBINET_TRY_ASSIGN(const Sha256Digest inputs,
                       inputs_digest(request.kernel_template(), request.spec(), request.options()));
    const PreparedRequest::Circumstances now{target, kind, inputs, identity_};
    if (const auto kept = request.kept(now)) return *kept;
    if (!request.parameters_header()) return request.parameters_header().error();
    const BuildFingerprint made =
        fingerprint_of(*request.kernel_template(), code_flags(target, kind, request.spec().options), inputs,
                       *request.parameters_header());
    request.keep(now, made);
    return made;
  }

  Result<std::vector<SmTarget>> supported_targets() override {
    CUBINET_TRY_ASSIGN(const auto stay, enter_nvrtc());
    CUBINET_TRY_ASSIGN(const auto loaded, load());
    return loaded.targets;
  }

  Result<std::vector<CompilerInput>> inputs(const CompileRequest& given) override {
    CUBINET_TRY_ASSIGN(const CompileRequest request, checked(given));
    CUBINET_TRY_ASSIGN(const auto stay, enter_nvrtc());
    CUBINET_TRY_ASSIGN(const Loaded loaded, load());
    CUBINET_TRY_ASSIGN(const BuildInputs read, read_inputs(request));
    CUBINET_TRY_ASSIGN(const std::string header, request.kernel_template->parameters_header(request.spec));
    const auto& more = request.kernel_template->linked_sources();
    std::vector<CompilerInput> described;
    for (std::size_t i = 0; i < read.closures.size(); ++i) {
      const KernelTemplate& source = i == 0 ? *request.kernel_template : *more[i - 1];
      described.push_back(describe_source(loaded.api->version(), request, source, *read.closures[i], header));
    }
    return described;
  }

  Result<CompileOutput> compile(const CompileRequest& given) override {
    CUBINET_TRY_ASSIGN(const CompileRequest request, checked(given));
    CUBINET_TRY(request.kernel_template->check_target(request.spec, request.target));
    CUBINET_TRY(check_environment());
    CUBINET_TRY_ASSIGN(const auto stay, enter_nvrtc());
    CUBINET_TRY_ASSIGN(const Loaded loaded, load());
    CUBINET_TRY(check_supported(loaded, request.target));
    const bool links = needs_link(request.spec.options);
    std::shared_ptr<const NvJitLinkApi> linker;
    if (links) {
      CUBINET_TRY(check_linkable(request));
      CUBINET_TRY_ASSIGN(linker, load_linker());
    }
    CUBINET_TRY_ASSIGN(const BuildInputs inputs, read_inputs(request));
    CUBINET_TRY_ASSIGN(const std::string header, request.kernel_template->parameters_header(request.spec));
    CUBINET_TRY_ASSIGN(CompileOutput output,
                       run_compile_job(*loaded.api, linker.get(), request, inputs, header));
    output.record.compiler = identity_;
    Sha256Digest digest = inputs.closures.front()->digest;
    if (links) {
      CUBINET_TRY_ASSIGN(const LinkerCandidate used, linker_candidate());
      output.record.compiler += "; " + used.identity;
      std::vector<Sha256Digest> sources;
      for (const auto& closure : inputs.closures)
        sources.push_back(closure->digest);
      digest = linked_digest(*request.kernel_template, sources, inputs.libraries.digest, used);
    }
    output.record.fingerprint = fingerprint_of(*request.kernel_template, code_flags(request), digest, header);
    return output;
  }

 private:
  struct Loaded {
    std::shared_ptr<const NvrtcApi> api;
    std::vector<SmTarget> targets;
  };

  // The request with its specification resolved: what identity, fingerprint and source are made of.
  static Result<CompileRequest> checked(const CompileRequest& given) {
    if (given.kernel_template == nullptr)
      return Error{ErrorCode::invalid_argument, "a request names no template"};
    CompileRequest request = given;
    if (given.resolved) return request;
    CUBINET_TRY_ASSIGN(request.spec, given.kernel_template->resolve(given.spec));
    request.resolved = true;
    return request;
  }

  // Loads NVRTC once. A failure is not kept: the library may be installed later.
  Result<Loaded> load() {
    const std::lock_guard lock(load_mutex_);
    if (loaded_.api != nullptr) return loaded_;
    CUBINET_TRY_ASSIGN(auto api, NvrtcApi::open(location_.library, location_.builtins));
    CUBINET_TRY_ASSIGN(const std::string loaded_as,
                       loaded_identity(location_, api->library(), *api->builtins()));
    // Fingerprints name the compiler whose files were read when it was opened.
    if (loaded_as != identity_) {
      return Error{ErrorCode::unavailable,
                   "'" + location_.library + "' was " + identity_ +
                       " when it was looked for, and what is loaded now is " + loaded_as,
                   "start the process again: NVRTC was replaced while it ran"};
    }
    int count = 0;
    nvrtcResult result = api->nvrtcGetNumSupportedArchs(&count);
    std::vector<int> architectures(static_cast<std::size_t>(std::max(count, 0)));
    if (result == NVRTC_SUCCESS) result = api->nvrtcGetSupportedArchs(architectures.data());
    if (result != NVRTC_SUCCESS) {
      return Error{ErrorCode::unavailable, "'" + location_.library + "' does not tell its targets: " +
                                               api->nvrtcGetErrorString(result)};
    }
    loaded_.targets = targets_of(architectures, api->version());
    loaded_.api = std::move(api);
    return loaded_;
  }

  // Found once; what is not there now may be installed later.
  Result<LinkerCandidate> linker_candidate() {
    const std::lock_guard lock(load_mutex_);
    if (!linker_) {
      CUBINET_TRY_ASSIGN(linker_, find_linker(location_, search_));
    }
    return *linker_;
  }

  // As load(), of the linker.
  Result<std::shared_ptr<const NvJitLinkApi>> load_linker() {
    CUBINET_TRY_ASSIGN(const LinkerCandidate candidate, linker_candidate());
    const std::lock_guard lock(load_mutex_);
    if (loaded_linker_ != nullptr) return loaded_linker_;
    const auto version = linker_version(candidate.library);
    CUBINET_TRY_ASSIGN(auto api, NvJitLinkApi::open(candidate.library, version.value_or(NvrtcVersion{})));
    CUBINET_TRY_ASSIGN(const std::string build, build_of_loaded(api->library()));
    if (!candidate.identity.ends_with(" " + build)) {
      return Error{ErrorCode::unavailable,
                   "'" + candidate.library + "' was " + candidate.identity +
                       " when it was looked for, and what is loaded now is build " + build,
                   "start the process again: nvJitLink was replaced while it ran"};
    }
    loaded_linker_ = std::move(api);
    return loaded_linker_;
  }

  // Just the texts and libraries that the fingerprint covers, whatever becomes of their files meanwhile.
  Result<BuildInputs> read_inputs(const CompileRequest& request) {
    const KernelTemplate& kernel_template = *request.kernel_template;
    const auto take = [&](const std::shared_ptr<const KernelTemplate>& source) {
      return with_all_headers(*source, request.options, request.spec,
                              [&](const HeaderSearch& search) { return closures_.take(source, search); });
    };
    BuildInputs inputs;
    CUBINET_TRY_ASSIGN(inputs.closures.emplace_back(), take(request.kernel_template));
    for (const auto& source : kernel_template.linked_sources()) {
      CUBINET_TRY_ASSIGN(inputs.closures.emplace_back(), take(source));
    }
    for (auto& closure : inputs.closures)
      closure = told_why(std::move(closure));
    CUBINET_TRY_ASSIGN(inputs.libraries, find_device_libraries(kernel_template.libraries(),
                                                               library_folders_of(request.options)));
    return inputs;
  }

  // The digest of what read_inputs() would read now, and of the linker.
  Result<Sha256Digest> inputs_digest(const std::shared_ptr<const KernelTemplate>& kernel_template,
                                     const KernelSpec& spec, const CompileOptions& options) {
    const auto get = [&](const std::shared_ptr<const KernelTemplate>& source) {
      return with_all_headers(*source, options, spec,
                              [&](const HeaderSearch& search) { return closures_.get(source, search); });
    };
    CUBINET_TRY_ASSIGN(const auto closure, get(kernel_template));
    if (!needs_link(spec.options)) return closure->digest;
    std::vector<Sha256Digest> sources = {closure->digest};
    for (const auto& source : kernel_template->linked_sources()) {
      CUBINET_TRY_ASSIGN(const auto more, get(source));
      sources.push_back(more->digest);
    }
    CUBINET_TRY_ASSIGN(const Sha256Digest libraries,
                       libraries_.digest(kernel_template->libraries(), library_folders_of(options)));
    CUBINET_TRY_ASSIGN(const LinkerCandidate linker, linker_candidate());
    return linked_digest(*kernel_template, sources, libraries, linker);
  }

  static Sha256Digest linked_digest(const KernelTemplate& kernel_template,
                                    const std::vector<Sha256Digest>& sources, const Sha256Digest& libraries,
                                    const LinkerCandidate& linker) {
    Sha256Hasher hasher;
    hasher.field("source", as_text(sources[0].bytes));
    for (std::size_t i = 1; i < sources.size(); ++i) {
      hasher.field("linked", kernel_template.linked_sources()[i - 1]->name());
      hasher.field("source", as_text(sources[i].bytes));
    }
    hasher.field("libraries", as_text(libraries.bytes));
    hasher.field("linker", linker.identity);
    return hasher.finish();
  }

  std::vector<std::string> library_folders_of(const CompileOptions& options) const {
    std::vector<std::string> folders = options.library_directories;
    const std::vector<std::string> own = library_folders(location_);
    folders.insert(folders.end(), own.begin(), own.end());
    return folders;
  }

  static Result<void> check_supported(const Loaded& loaded, SmTarget target) {
    if (std::find(loaded.targets.begin(), loaded.targets.end(), target) != loaded.targets.end()) return {};
    std::string names;
    for (const SmTarget known : loaded.targets)
      names += " " + known.to_string();
    return Error{ErrorCode::unsupported,
                 "NVRTC " + loaded.api->version().to_string() + " cannot build for " + target.to_string(),
                 "it builds for" + names + "; other targets need another release of NVRTC"};
  }

  HeaderSearch search_of(const KernelTemplate& kernel_template, const CompileOptions& options,
                         const KernelSpec& spec, bool with_bundled) const {
    HeaderSearch search{options.include_directories, toolkit_directories_, header_macros(spec.options)};
    const auto standard = spec.options.find("std");
    if (standard != spec.options.end()) search.standard = standard->second;
    if (with_bundled) {
      for (std::string& folder : bundled_->folders())
        search.toolkit_directories.push_back(std::move(folder));
    }
    const auto& parameters = kernel_template.parameters();
    if (std::all_of(parameters.begin(), parameters.end(),
                    [](const auto& each) { return each.macro.empty(); }))
      return search;
    // Parameters may be macros that name headers. Where the header cannot be written that is told elsewhere.
    const auto header = kernel_template.parameters_header(spec);
    for (const HeaderMacro& macro : scan_includes(header ? *header : std::string()).macros)
      search.macros.emplace_back(macro.name + macro.parameters, macro.replacement);
    return search;
  }

  // What `read` makes of a source's headers; once more where one is missing that may be within NVRTC.
  template <class Read>
  Result<std::shared_ptr<const IncludeClosure>> with_all_headers(const KernelTemplate& source,
                                                                 const CompileOptions& options,
                                                                 const KernelSpec& spec, Read read) {
    const bool has_all = has_bundled();
    auto closure = read(search_of(source, options, spec, has_all));
    if (!closure || (*closure)->missing.empty() || has_all || !install_bundled()) return closure;
    return read(search_of(source, options, spec, true));
  }

  // Whether the headers within NVRTC are there to be searched.
  bool has_bundled() {
    if (!bundled_) return false;
    const std::lock_guard lock(bundled_mutex_);
    if (!bundled_there_) {
      const auto there = bundled_->installed();
      bundled_there_ = there && *there;
    }
    return bundled_there_;
  }
  // Puts them there, where nobody else has; whether they are there now. A failure is kept: with a folder that
  // cannot be written each request would load NVRTC to hear of it.
  bool install_bundled() {
    if (!bundled_) return false;
    if (has_bundled()) return true;
    const std::lock_guard lock(bundled_mutex_);
    if (bundled_failure_) return false;
    const Result<void> installed = [&]() -> Result<void> {
      CUBINET_TRY_ASSIGN(const auto stay, enter_nvrtc());
      CUBINET_TRY_ASSIGN(const Loaded loaded, load());
      return bundled_->install(*loaded.api);
    }();
    if (!installed) bundled_failure_ = installed.error();
    return installed.has_value();
  }
  // With the reason why the headers within NVRTC are not among those of a closure, for the error to come.
  std::shared_ptr<const IncludeClosure> told_why(std::shared_ptr<const IncludeClosure> closure) {
    const std::lock_guard lock(bundled_mutex_);
    if (!bundled_failure_ || closure->missing.empty()) return closure;
    auto told = std::make_shared<IncludeClosure>(*closure);
    told->without_bundled = bundled_failure_->message;
    return told;
  }

  BuildFingerprint fingerprint_of(const KernelTemplate& kernel_template,
                                  const std::vector<std::string>& flags, const Sha256Digest& inputs,
                                  const std::string& header) const {
    Sha256Hasher hasher;
    hasher.field("fingerprint", kFingerprintVersion);
    hasher.field("template", kernel_template.name());
    hasher.field("interface", std::to_string(kernel_template.interface_version()));
    hasher.field("sources", as_text(inputs.bytes));
    hasher.field("parameters", header);
    for (const std::string& flag : flags)
      hasher.field("flag", flag);
    hasher.field("compiler", identity_);
    return BuildFingerprint{hasher.finish()};
  }

  const CompilerCandidate location_;
  const std::string identity_;
  const CompilerSearch search_;
  const std::vector<std::string> toolkit_directories_;

  std::mutex load_mutex_;
  Loaded loaded_;  // guarded by load_mutex_, as the following
  std::optional<LinkerCandidate> linker_;
  std::shared_ptr<const NvJitLinkApi> loaded_linker_;

  std::optional<BundledHeaders> bundled_;  // nullopt: NVRTC has none, or none are wanted
  std::mutex bundled_mutex_;
  bool bundled_there_ = false;  // guarded by bundled_mutex_, as the next
  std::optional<Error> bundled_failure_;

  ClosureCache closures_;
  DeviceLibraryCache libraries_;
};

constexpr const char* kInstallRemedy =
    "install the CUDA toolkit 12.0 or later, or `pip install --target FOLDER nvidia-cuda-nvrtc`; where it is "
    "in none of these places, name it with CUDA_HOME, CUBINET_CUDA_WHEELS or --nvrtc to the tool, with "
    "CompilerSearch in a program";

Error nothing_found(const CompilerSearch& search) {
  std::string places;
  for (const auto& place : places_searched(search))
    places += (places.empty() ? "" : ", ") + place;
  return Error{ErrorCode::unavailable,
               "no NVRTC (libnvrtc.so.13 or libnvrtc.so.12) was found; searched: " + places, kInstallRemedy};
}

}  // namespace

Result<std::shared_ptr<Compiler>> Compiler::open(const CompilerSearch& search) {
  const std::vector<CompilerCandidate> candidates = find_compilers(search);
  if (candidates.empty()) return nothing_found(search);
  const auto usable =
      std::find_if(candidates.begin(), candidates.end(),
                   [](const CompilerCandidate& candidate) { return !candidate.builtins.empty(); });
  const CompilerCandidate& chosen = usable == candidates.end() ? candidates.front() : *usable;
  if (const auto version = version_by_file_name(chosen); version && version->major < kOldestNvrtcMajor) {
    return Error{ErrorCode::unsupported,
                 "'" + chosen.library + "' is NVRTC " + version->to_string() + ", which is too old",
                 "install NVRTC 12.0 or later"};
  }
  if (usable == candidates.end()) {
    return Error{ErrorCode::unavailable, "'" + chosen.library + "' has no libnvrtc-builtins beside it",
                 "install NVRTC again: both libraries belong into one folder"};
  }
  CUBINET_TRY_ASSIGN(std::string identity, compiler_identity(chosen));
  return std::shared_ptr<Compiler>(std::make_shared<NvrtcCompiler>(chosen, std::move(identity), search));
}

}  // namespace cubinet
