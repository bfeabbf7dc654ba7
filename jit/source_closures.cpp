// SPDX-License-Identifier: Apache-2.0
#include "source_closures.hpp"

#include "compiler_search.hpp"

namespace cubinet {
namespace {

constexpr NvrtcVersion kFirstWithHeaders{13, 3};  // contained in NVRTC

}  // namespace

SourceClosures::SourceClosures(const CompilerCandidate& compiler, std::string_view identity,
                               const CompilerSearch& search, Load load)
    : toolkit_directories_(header_folders(compiler)), load_(std::move(load)) {
  const auto version = version_by_file_name(compiler);
  const bool has_headers = version && *version >= kFirstWithHeaders;
  if (search.bundled_headers && has_headers && !are_complete(toolkit_directories_))
    bundled_.emplace(*search.bundled_headers, identity);
}

HeaderSearch SourceClosures::search_of(const PreparedRequest& request, bool with_bundled) const {
  const CompilerOptions& options = request.spec().options;
  HeaderSearch search{request.options().include_directories, toolkit_directories_, request.header_macros()};
  if (const auto standard = options.find("std"); standard != options.end())
    search.standard = standard->second;
  if (with_bundled) {
    for (std::string& folder : bundled_->folders())
      search.toolkit_directories.push_back(std::move(folder));
  }
  return search;
}

// Reads a source's headers with `read`, and again if a missing header may be contained in the
// compiler.
template <class Read>
Result<SourceClosures::Closure> SourceClosures::with_all_headers(const PreparedRequest& request, Read read) {
  const bool has_all = has_bundled();
  auto closure = read(search_of(request, has_all));
  if (closure && (*closure)->missing.empty()) return closure;
  // The headers may have been removed meanwhile, also while they were read.
  const bool may_lack = has_all ? !is_still_there() : closure.has_value();
  if (!may_lack || !install_bundled()) return closure;
  return read(search_of(request, true));
}

template <class Read>
Result<SourceClosures::Closures> SourceClosures::of_all_sources(const PreparedRequest& request, Read read) {
  const auto read_one = [&](const std::shared_ptr<const KernelTemplate>& source) {
    return with_all_headers(request, [&](const HeaderSearch& search) { return read(source, search); });
  };
  Closures closures;
  CUBINET_TRY_ASSIGN(closures.emplace_back(), read_one(request.kernel_template()));
  for (const auto& source : request.kernel_template()->linked_sources()) {
    CUBINET_TRY_ASSIGN(closures.emplace_back(), read_one(source));
  }
  CUBINET_TRY(check_parameters_used(*request.kernel_template(), closures));
  return closures;
}

Result<SourceClosures::Closures> SourceClosures::get(const PreparedRequest& request) {
  return of_all_sources(
      request, [&](const auto& source, const HeaderSearch& search) { return closures_.get(source, search); });
}

Result<SourceClosures::Closures> SourceClosures::take(const PreparedRequest& request) {
  CUBINET_TRY_ASSIGN(Closures closures,
                     of_all_sources(request, [&](const auto& source, const HeaderSearch& search) {
                       return closures_.take(source, search);
                     }));
  for (Closure& closure : closures)
    closure = with_reason(std::move(closure));
  return closures;
}

// Returns whether the compiler's contained headers are installed.
bool SourceClosures::has_bundled() {
  if (!bundled_) return false;
  const std::lock_guard lock(bundled_mutex_);
  if (!bundled_there_) {
    const auto there = bundled_->installed();
    bundled_there_ = there && *there;
  }
  return bundled_there_;
}

bool SourceClosures::is_still_there() {
  {
    const std::lock_guard lock(bundled_mutex_);
    bundled_there_ = false;
  }
  return has_bundled();
}

// Installs the headers if needed, and returns whether they are installed. A failure is cached;
// otherwise each request with an unwritable folder would load NVRTC again.
bool SourceClosures::install_bundled() {
  if (!bundled_) return false;
  if (has_bundled()) return true;
  const std::lock_guard lock(bundled_mutex_);
  if (bundled_failure_) return false;
  const Result<void> installed = [&]() -> Result<void> {
    CUBINET_TRY_ASSIGN(const auto api, load_());
    return bundled_->install(*api);
  }();
  if (!installed) bundled_failure_ = installed.error();
  return installed.has_value();
}

// Returns the closure with the reason why the compiler's headers are not searched, for a later
// error.
SourceClosures::Closure SourceClosures::with_reason(Closure closure) {
  const std::lock_guard lock(bundled_mutex_);
  if (!bundled_failure_ || closure->missing.empty()) return closure;
  auto told = std::make_shared<IncludeClosure>(*closure);
  told->without_bundled = bundled_failure_->message;
  return told;
}

}  // namespace cubinet
