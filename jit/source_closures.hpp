// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bundled_headers.hpp"
#include "closure_cache.hpp"

#include <cubinet/jit/prepared_request.hpp>

#include <mutex>
#include <optional>

namespace cubinet {

// The include closures of a request's sources, with this compiler's headers. Headers that the
// compiler contains are installed when a source first lacks one. Thread-safe.
class SourceClosures {
 public:
  // The template's closure, then that of each source that is linked with it.
  using Closures = std::vector<std::shared_ptr<const IncludeClosure>>;
  using Load = Callback<Result<std::shared_ptr<const NvrtcApi>>()>;

  // `load` loads the compiler if its headers must be installed.
  SourceClosures(const CompilerCandidate& compiler, std::string_view identity, const CompilerSearch& search,
                 Load load);

  // Returns the current closures, without texts.
  Result<Closures> get(const PreparedRequest& request);
  // Returns the current closures with texts, for compiling.
  Result<Closures> take(const PreparedRequest& request);

 private:
  using Closure = std::shared_ptr<const IncludeClosure>;

  HeaderSearch search_of(const PreparedRequest& request, bool with_bundled) const;
  template <class Read>
  Result<Closure> with_all_headers(const PreparedRequest& request, Read read);
  template <class Read>
  Result<Closures> of_all_sources(const PreparedRequest& request, Read read);
  bool has_bundled();
  bool is_still_there();
  bool install_bundled();
  Closure with_reason(Closure closure);

  const std::vector<std::string> toolkit_directories_;
  const Load load_;
  ClosureCache closures_;

  std::optional<BundledHeaders> bundled_;  // nullopt: the compiler contains none, or they are disabled
  std::mutex bundled_mutex_;
  bool bundled_there_ = false;  // guarded by bundled_mutex_, as the next
  std::optional<Error> bundled_failure_;
};

}  // namespace cubinet
