// SPDX-License-Identifier: Apache-2.0
// The libcurl functions of transport/curl_api.hpp, as a library with injectable faults
// (support/curl_faults.hpp).
#include "support/curl_faults.hpp"

#include <cstdarg>
#include <curl/curl.h>
#include <dlfcn.h>

#undef curl_easy_setopt
#undef curl_easy_getinfo

using cubinet::test::CurlFaults;

namespace {

CurlFaults::State state;

bool fails() {
  const unsigned call = ++state.calls;
  const CurlFaults::Kind kind = state.kind;
  if (kind == CurlFaults::Kind::none || call < state.at) return false;
  if (kind == CurlFaults::Kind::once && call != state.at) return false;
  ++state.failed;
  return true;
}

template <class Function>
Function real(Function, const char* name) {
  static void* const library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
  return library == nullptr ? nullptr : reinterpret_cast<Function>(dlsym(library, name));
}

}  // namespace

// The system's function of this name.
#define REAL(name) real(&(name), #name)
#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED CurlFaults::State* cubinet_curl_faults() {
  return &state;
}

EXPORTED CURLcode curl_global_init(long flags) {
  if (fails()) return CURLE_FAILED_INIT;
  static const auto next = REAL(curl_global_init);
  return next == nullptr ? CURLE_FAILED_INIT : next(flags);
}

EXPORTED curl_version_info_data* curl_version_info(CURLversion version) {
  return REAL(curl_version_info)(version);
}

EXPORTED CURL* curl_easy_init() {
  if (fails()) return nullptr;
  static const auto next = REAL(curl_easy_init);
  CURL* const handle = next();
  state.alive += handle != nullptr ? 1 : 0;
  return handle;
}

EXPORTED void curl_easy_reset(CURL* handle) {
  static const auto next = REAL(curl_easy_reset);
  next(handle);
}

EXPORTED void curl_easy_cleanup(CURL* handle) {
  static const auto next = REAL(curl_easy_cleanup);
  state.alive -= handle != nullptr ? 1 : 0;
  next(handle);
}

EXPORTED CURLcode curl_easy_setopt(CURL* handle, CURLoption option, ...) {
  if (fails()) return CURLE_OUT_OF_MEMORY;
  static const auto next = REAL(curl_easy_setopt);
  va_list arguments;
#ifdef __clang__  // the type of the last parameter is libcurl's, which does this too
#pragma clang diagnostic ignored "-Wvarargs"
#endif
  va_start(arguments, option);
  CURLcode status = CURLE_OK;
  if (option < CURLOPTTYPE_OBJECTPOINT)
    status = next(handle, option, va_arg(arguments, long));
  else if (option >= CURLOPTTYPE_OFF_T && option < CURLOPTTYPE_BLOB)
    status = next(handle, option, va_arg(arguments, curl_off_t));
  else
    status = next(handle, option, va_arg(arguments, void*));
  va_end(arguments);
  return status;
}

EXPORTED CURLcode curl_easy_perform(CURL* handle) {
  if (fails()) return CURLE_COULDNT_CONNECT;
  static const auto next = REAL(curl_easy_perform);
  const CURLcode status = next(handle);
  return fails() ? CURLE_RECV_ERROR : status;
}

EXPORTED const char* curl_easy_strerror(CURLcode code) {
  static const auto next = REAL(curl_easy_strerror);
  return next(code);
}

EXPORTED curl_slist* curl_slist_append(curl_slist* list, const char* text) {
  if (fails()) return nullptr;
  static const auto next = REAL(curl_slist_append);
  curl_slist* const longer = next(list, text);
  state.alive += list == nullptr && longer != nullptr ? 1 : 0;
  return longer;
}

EXPORTED void curl_slist_free_all(curl_slist* list) {
  static const auto next = REAL(curl_slist_free_all);
  state.alive -= list != nullptr ? 1 : 0;
  next(list);
}
