// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/cubin_registry/bundle.hpp>
#include <cubinet/cubin_registry/home.hpp>
#include <cubinet/report/parts.hpp>
#include <cubinet/session/session_options.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace cubinet {

// Return the sections of a home and of a bundle. Each build is compared with the current one, as
// far as a compiler is found. `now` is in seconds since 1970. Return the errors of reading the
// store.
Result<Section> home_section(const SessionOptions& session, const std::shared_ptr<Home>& home,
                             std::int64_t now);
// `store` is the bundle, or the server that it is read from.
Result<Section> bundle_section(const SessionOptions& session, const std::shared_ptr<Store>& store,
                               const std::shared_ptr<Bundle>& bundle, std::int64_t now);

// Returns a Runtime over these stores, for questions.
Result<std::shared_ptr<Runtime>> runtime_over(const SessionOptions& session,
                                              std::vector<std::shared_ptr<Store>> stores);

}  // namespace cubinet
