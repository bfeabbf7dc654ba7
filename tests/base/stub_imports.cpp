// SPDX-License-Identifier: Apache-2.0
// A library that imports one function of the C library.
#include <cstdlib>

extern "C" int roll() {
  return std::rand();
}
