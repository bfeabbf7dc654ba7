// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/dynamic_library.hpp>

#include <curl/curl.h>
#include <memory>

namespace cubinet {

// Every libcurl function in use.
#define CUBINET_CURL_FUNCTIONS(X) \
  X(curl_global_init)             \
  X(curl_version_info)            \
  X(curl_easy_init)               \
  X(curl_easy_reset)              \
  X(curl_easy_cleanup)            \
  X(curl_easy_setopt)             \
  X(curl_easy_perform)            \
  X(curl_easy_strerror)           \
  X(curl_slist_append)            \
  X(curl_slist_free_all)

// The libcurl library, opened at run time (docs/decisions/dlopen.md) and initialised. Immutable and
// thread-safe.
class CurlApi {
 public:
  // Opens libcurl. `library` is a path or a soname. Errors: unavailable if it cannot be opened, is
  // not libcurl or has no TLS; unsupported if it is older than 7.76.
  static Result<std::shared_ptr<const CurlApi>> open(const std::string& library);

#define CUBINET_DECLARE(name) decltype(&::name) name = nullptr;
  CUBINET_CURL_FUNCTIONS(CUBINET_DECLARE)
#undef CUBINET_DECLARE

 private:
  explicit CurlApi(DynamicLibrary library) : library_(std::move(library)) {}

  DynamicLibrary library_;
};

}  // namespace cubinet
