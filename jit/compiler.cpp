// SPDX-License-Identifier: Apache-2.0
#include "compile_flags.hpp"
#include "compile_job.hpp"
#include "compiler_identity.hpp"
#include "compiler_search.hpp"
#include "exit_gate.hpp"
#include "link_job.hpp"
#include "linker_inputs.hpp"
#include "nvrtc_copies.hpp"
#include "small_image.hpp"
#include "source_closures.hpp"

#include <cubinet/base/fork_guard.hpp>
#include <cubinet/base/sha256_hasher.hpp>
#include <cubinet/jit/compiler.hpp>
#include <cubinet/jit/prepared_request.hpp>
#include <cubinet/spec/image_target.hpp>

#include <algorithm>
#include <mutex>

namespace cubinet {
namespace {

// Raised when fingerprints cover other fields, so old and new fingerprints differ.
constexpr std::string_view kFingerprintVersion = "2";
// Raised when other variables count as unused, or when the source is compiled in another way.
constexpr std::string_view kSmallImageVersion = "2";

ForkHazard nvrtc_library;

// A scope in which the calling thread may use NVRTC and nvJitLink.
struct CompilerStay {
  ForkHazard::Stay before_fork;
  ExitGate::Stay before_exit;
};

Result<CompilerStay> enter_nvrtc() {
  CompilerStay stay{nvrtc_library.enter(), compiler_gate().enter()};
  if (!stay.before_exit)
    return Error{ErrorCode::unavailable, "nothing is compiled any more, because the process exits"};
  if (stay.before_fork) return stay;
  return Error{
      ErrorCode::unavailable,
      "nothing can be compiled in this process: another thread was inside NVRTC when it was forked, "
      "and NVRTC's locks stay held",
      "start workers by exec (spawn), or fork while nothing is compiled; what a store holds is found"};
}

class NvrtcCompiler final : public Compiler {
 public:
  NvrtcCompiler(CompilerCandidate location, std::string identity, const CompilerSearch& search)
      : location_(std::move(location)),
        identity_(std::move(identity)),
        closures_(location_, identity_, search, [this] { return entered(); }),
        linker_(location_, search) {}

  const CompilerCandidate& location() const override { return location_; }
  const std::string& identity() const override { return identity_; }

  Result<BuildFingerprint> fingerprint(const CompileRequest& given) override {
    CUBINET_TRY_ASSIGN(const CompileRequest request, checked(given));
    return fingerprint(PreparedRequest(request.kernel_template, request.spec, request.options),
                       request.target, request.kind);
  }

  Result<BuildFingerprint> fingerprint(const PreparedRequest& request, SmTarget target,
                                       ImageKind kind) override {
    CUBINET_TRY_ASSIGN(const Sha256Digest inputs, inputs_digest(request, kind));
    const PreparedRequest::Circumstances now{target, kind, inputs, identity_};
    if (const auto kept = request.kept(now)) return *kept;
    CUBINET_TRY_ASSIGN(const BuildFingerprint made,
                       fingerprint_of(request, code_flags(target, kind, request.spec().options), inputs));
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
    const PreparedRequest prepared(request.kernel_template, request.spec, request.options);
    CUBINET_TRY_ASSIGN(const BuildInputs read, read_inputs(prepared));
    CUBINET_TRY_ASSIGN(const std::string header, prepared.parameters_header());
    const std::string variables_kept = reason_to_keep(prepared, request.kind, read.closures).value_or("");
    const auto& more = request.kernel_template->linked_sources();
    std::vector<CompilerInput> described;
    for (std::size_t i = 0; i < read.closures.size(); ++i) {
      const KernelTemplate& source = i == 0 ? *request.kernel_template : *more[i - 1];
      described.push_back(describe_source(loaded.api->version(), request, source, *read.closures[i], header));
      described.back().variables_kept = variables_kept;
    }
    return described;
  }

  Result<CompileOutput> compile(const CompileRequest& given) override {
    // First, because the process may be exiting: what the rest reads is then being destroyed.
    CUBINET_TRY_ASSIGN(const auto stay, enter_nvrtc());
    CUBINET_TRY_ASSIGN(const CompileRequest request, checked(given));
    CUBINET_TRY(request.kernel_template->check_target(request.spec, request.target, request.kind));
    CUBINET_TRY(check_nvrtc_environment());
    CUBINET_TRY_ASSIGN(const Loaded loaded, load());
    CUBINET_TRY(check_supported(loaded, {request.target, request.kind}));
    const bool links = needs_link(request.spec.options);
    std::shared_ptr<const NvJitLinkApi> linker;
    if (links) {
      CUBINET_TRY(check_linkable(request));
      CUBINET_TRY_ASSIGN(linker, linker_.load());
    }
    const PreparedRequest prepared(request.kernel_template, request.spec, request.options);
    CUBINET_TRY_ASSIGN(BuildInputs inputs, read_inputs(prepared));
    CUBINET_TRY_ASSIGN(const std::string header, prepared.parameters_header());
    load_small_linker(prepared, request.kind, inputs, linker);
    // Hashing the inputs has made libcrypto register its exit handler.
    std::call_once(hashed_, close_gate_at_exit);
    CUBINET_TRY_ASSIGN(CompileOutput output,
                       run_compile_job(*loaded.copies, linker.get(), request, inputs, header));
    output.record.compiler = identity_;
    if (links || output.variables_kept.empty()) {
      CUBINET_TRY_ASSIGN(const LinkerCandidate used, linker_.linker());
      output.record.compiler += "; " + used.identity;
    }
    CUBINET_TRY_ASSIGN(const Sha256Digest digest,
                       digest_of(prepared, request.kind, inputs.closures, inputs.libraries.digest));
    CUBINET_TRY_ASSIGN(output.record.fingerprint, fingerprint_of(prepared, code_flags(request), digest));
    // The objects that the steps above use exist now.
    std::call_once(compiled_, close_gate_at_exit);
    return output;
  }

 private:
  struct Loaded {
    std::shared_ptr<const NvrtcApi> api;
    std::shared_ptr<NvrtcCopies> copies;  // of `api`
    std::vector<SmTarget> targets;
  };

  // Returns the request with its specification resolved.
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
    close_gate_before_destructors_of(api->library());
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
      return Error{ErrorCode::unavailable, "'" + location_.library + "' does not return its targets: " +
                                               api->nvrtcGetErrorString(result)};
    }
    loaded_.targets = targets_of(architectures, api->version());
    loaded_.copies = std::make_shared<NvrtcCopies>(api);
    loaded_.api = std::move(api);
    return loaded_;
  }

  // Returns the loaded NVRTC, or an error in a forked process.
  Result<std::shared_ptr<const NvrtcApi>> entered() {
    CUBINET_TRY_ASSIGN(const auto stay, enter_nvrtc());
    CUBINET_TRY_ASSIGN(const Loaded loaded, load());
    return loaded.api;
  }

  // Reads the texts and libraries that the fingerprint covers. Later changes of the files have no
  // effect.
  Result<BuildInputs> read_inputs(const PreparedRequest& request) {
    BuildInputs inputs;
    CUBINET_TRY_ASSIGN(inputs.closures, closures_.take(request));
    CUBINET_TRY_ASSIGN(inputs.libraries, linker_.libraries(*request.kernel_template(), request.options()));
    return inputs;
  }

  // Returns the digest of the inputs that read_inputs() would read now, and of the linker.
  Result<Sha256Digest> inputs_digest(const PreparedRequest& request, ImageKind kind) {
    CUBINET_TRY_ASSIGN(const auto closures, closures_.get(request));
    Sha256Digest libraries;
    if (needs_link(request.spec().options)) {
      CUBINET_TRY_ASSIGN(libraries, linker_.libraries_digest(*request.kernel_template(), request.options()));
    }
    return digest_of(request, kind, closures, libraries);
  }

  Result<Sha256Digest> digest_of(const PreparedRequest& request, ImageKind kind,
                                 const SourceClosures::Closures& closures, const Sha256Digest& libraries) {
    Sha256Digest digest = closures.front()->digest;
    if (needs_link(request.spec().options)) {
      CUBINET_TRY_ASSIGN(digest, linker_.linked_digest(*request.kernel_template(), closures, libraries));
    }
    if (reason_to_keep(request, kind, closures)) return digest;
    CUBINET_TRY_ASSIGN(const LinkerCandidate used, linker_.linker_of_same_release());
    Sha256Hasher hasher;
    hasher.field("inputs", as_text(digest.bytes));
    hasher.field("small image", kSmallImageVersion);
    hasher.field("linker", used.identity);
    return hasher.finish();
  }

  // Returns why unused variables stay in the image, or nullopt if the linker removes them.
  std::optional<std::string> reason_to_keep(const PreparedRequest& request, ImageKind kind,
                                            const SourceClosures::Closures& closures) {
    auto reason =
        reason_to_keep_variables(*request.kernel_template(), request.spec().options, kind, closures);
    if (reason) return reason;
    const auto linker = linker_.linker_of_same_release();
    if (!linker) return linker.error().message;
    return std::nullopt;
  }

  // Loads the linker if it removes unused variables; otherwise notes the reason.
  void load_small_linker(const PreparedRequest& request, ImageKind kind, BuildInputs& inputs,
                         std::shared_ptr<const NvJitLinkApi>& linker) {
    inputs.variables_kept = reason_to_keep(request, kind, inputs.closures).value_or("");
    if (linker != nullptr || !inputs.variables_kept.empty()) return;
    auto loaded = linker_.load();
    if (loaded) {
      linker = *std::move(loaded);
    } else {
      inputs.variables_kept = loaded.error().message;
    }
  }

  static Result<void> check_supported(const Loaded& loaded, ImageTarget target) {
    if (std::find(loaded.targets.begin(), loaded.targets.end(), target.target) != loaded.targets.end())
      return {};
    std::string names;
    for (const SmTarget known : loaded.targets)
      names += " " + ImageTarget{known, target.kind}.to_string();
    return Error{ErrorCode::unsupported,
                 "NVRTC " + loaded.api->version().to_string() + " cannot build for " + target.to_string(),
                 "it builds for" + names + "; other targets need another release of NVRTC"};
  }

  Result<BuildFingerprint> fingerprint_of(const PreparedRequest& request,
                                          const std::vector<std::string>& flags,
                                          const Sha256Digest& inputs) const {
    if (!request.parameters_header()) return request.parameters_header().error();
    const KernelTemplate& kernel_template = *request.kernel_template();
    Sha256Hasher hasher;
    hasher.field("fingerprint", kFingerprintVersion);
    hasher.field("template", kernel_template.name());
    hasher.field("interface", std::to_string(kernel_template.interface_version()));
    if (!kernel_template.base().name.empty()) hasher.field("base", kernel_template.base().text);
    hasher.field("sources", as_text(inputs.bytes));
    hasher.field("parameters", *request.parameters_header());
    for (const std::string& flag : flags)
      hasher.field("flag", flag);
    hasher.field("compiler", identity_);
    return BuildFingerprint{hasher.finish()};
  }

  const CompilerCandidate location_;
  const std::string identity_;
  std::once_flag hashed_;
  std::once_flag compiled_;
  std::mutex load_mutex_;
  Loaded loaded_;  // guarded by load_mutex_
  SourceClosures closures_;
  LinkerInputs linker_;
};

constexpr const char* kInstallRemedy =
    "install the CUDA toolkit 12.0 or later, or `pip install --target FOLDER nvidia-cuda-nvrtc`; if it is "
    "elsewhere, name the toolkit with `CompilerSearch::toolkit_roots`, FOLDER with "
    "`CompilerSearch::wheel_roots`, or the library with `CompilerSearch::library`";

Error nothing_found(const CompilerSearch& search) {
  std::string places;
  for (const auto& place : places_searched(search))
    places += (places.empty() ? "" : ", ") + place;
  return Error{ErrorCode::unavailable,
               "no NVRTC (libnvrtc.so.13 or libnvrtc.so.12) was found; searched: " + places, kInstallRemedy};
}

}  // namespace

Result<UnneededHeaders> sweep_bundled_headers(const CompilerSearch& search, bool remove) {
  if (!search.bundled_headers) return UnneededHeaders();
  CompilerSearch usual = search;
  usual.library.reset();  // the default search, without the named library
  std::vector<std::string> identities;
  for (const CompilerSearch& each : {search, usual}) {
    for (const CompilerCandidate& candidate : find_compilers(each)) {
      if (candidate.builtins.empty()) continue;
      CUBINET_TRY_ASSIGN(identities.emplace_back(), compiler_identity(candidate));
    }
  }
  return BundledHeaders::sweep(*search.bundled_headers, identities, remove);
}

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
