// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/text.hpp>
#include <cubinet/session/bundle_options.hpp>

namespace cubinet {

Result<void> check_bundle_options(const BundleOptions& options) {
  if (!is_printable(options.channel)) {
    return Error{
        ErrorCode::invalid_argument,
        "`BundleOptions::channel`: a bundle's channel cannot be '" + printable(options.channel) + "'",
        "give it a name of one line, without control characters"};
  }
  if (options.expires != 0 && options.expires <= options.created) {
    return Error{ErrorCode::invalid_argument,
                 "`BundleOptions::expires`: the bundle would be out of date when it is made",
                 "give a later time than `BundleOptions::created`"};
  }
  return {};
}

}  // namespace cubinet
