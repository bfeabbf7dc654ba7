// SPDX-License-Identifier: Apache-2.0
#include "curl_api.hpp"

#include <mutex>

namespace cubinet {
namespace {

constexpr unsigned kOldestCurl = 0x074c00;  // 7.76.0, the version of RHEL 9

// Before 7.84, curl_global_init must not run twice at once.
std::mutex curl_initialisation;

const char* const kCurlRemedy =
    "install libcurl 7.76 or later (Debian, Ubuntu: libcurl4), or name its library; all that needs no server "
    "works "
    "without it";

}  // namespace

Result<std::shared_ptr<const CurlApi>> CurlApi::open(const std::string& library) {
  auto opened = DynamicLibrary::open(library);
  if (!opened) {
    Error error = std::move(opened).error();
    error.remedy = kCurlRemedy;
    return error;
  }
  const std::shared_ptr<CurlApi> api(new CurlApi(std::move(*opened)));
#define CUBINET_RESOLVE(name)                                                                             \
  api->name = reinterpret_cast<decltype(&::name)>(api->library_.find(#name));                             \
  if (api->name == nullptr)                                                                               \
    return Error{ErrorCode::unavailable, "'" + library + "' has no function " #name ": it is no libcurl", \
                 kCurlRemedy};
  CUBINET_CURL_FUNCTIONS(CUBINET_RESOLVE)
#undef CUBINET_RESOLVE
  const curl_version_info_data* version = api->curl_version_info(CURLVERSION_NOW);
  if (version->version_num < kOldestCurl)
    return Error{ErrorCode::unsupported,
                 "'" + library + "' is libcurl " + version->version + ", which is too old", kCurlRemedy};
  if ((version->features & CURL_VERSION_SSL) == 0)
    return Error{ErrorCode::unavailable, "'" + library + "' is a libcurl without TLS", kCurlRemedy};
  const std::lock_guard lock(curl_initialisation);
  // libcurl is never cleaned up: other code in the process may use it, and it stays loaded.
  if (const CURLcode status = api->curl_global_init(CURL_GLOBAL_ALL); status != CURLE_OK)
    return Error{ErrorCode::unavailable,
                 "'" + library + "' does not start: " + api->curl_easy_strerror(status),
                 kCurlRemedy,
                 {},
                 static_cast<long>(status)};
  return std::shared_ptr<const CurlApi>(api);
}

}  // namespace cubinet
