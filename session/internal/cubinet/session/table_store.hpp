// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/log.hpp>
#include <cubinet/cubin_registry/store.hpp>

#include <memory>
#include <string>

namespace cubinet {

// Opens the rows of a published metadata header as a store of builds without images. Use it to find
// out which build would be chosen. Logs a warning for rows that cannot be used.
Result<std::shared_ptr<Store>> open_table(const std::string& file, const LogSink& sink);
// Like open_table, for a header that was already read. Messages call it `file`.
Result<std::shared_ptr<Store>> open_table(const std::string& file, ByteView bytes, const LogSink& sink);

}  // namespace cubinet
