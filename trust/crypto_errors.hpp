// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <openssl/err.h>

namespace cubinet {

// A scope that removes the libcrypto errors that it added. libcrypto keeps errors in a queue per
// thread, where the next user of the library would take them for its own.
class CryptoErrors {
 public:
  CryptoErrors() { ERR_set_mark(); }
  ~CryptoErrors() { ERR_pop_to_mark(); }
  CryptoErrors(const CryptoErrors&) = delete;
  CryptoErrors& operator=(const CryptoErrors&) = delete;
};

}  // namespace cubinet
