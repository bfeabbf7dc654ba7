// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <openssl/err.h>

namespace cubinet {

// libcrypto leaves its errors in a queue of the thread, where the next user of the library would take them
// for its own: what a scope has added goes with it.
class CryptoErrors {
 public:
  CryptoErrors() { ERR_set_mark(); }
  ~CryptoErrors() { ERR_pop_to_mark(); }
  CryptoErrors(const CryptoErrors&) = delete;
  CryptoErrors& operator=(const CryptoErrors&) = delete;
};

}  // namespace cubinet
