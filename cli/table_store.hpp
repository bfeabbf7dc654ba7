// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "context.hpp"

#include <memory>
#include <string>

namespace cubinet::cli {

// The rows of a published metadata header as a store: builds that nobody has, to ask which would be taken.
// Rows that cannot be taken are told on stderr.
Result<std::shared_ptr<Store>> open_table(const Context& context, const std::string& file);
// The same of a header that was read: `file` is what messages call it.
Result<std::shared_ptr<Store>> open_table(const Context& context, const std::string& file, ByteView bytes);

}  // namespace cubinet::cli
