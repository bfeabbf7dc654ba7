// SPDX-License-Identifier: Apache-2.0
// A library that imports one function of the C library, which a constructor calls, too.
#include <cstdlib>

extern "C" {
int first_roll = std::rand();  // NOLINT(cert-err58-cpp): it does not throw

int roll() {
  return std::rand();
}
}
