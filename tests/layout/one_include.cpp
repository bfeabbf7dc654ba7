// SPDX-License-Identifier: Apache-2.0
// Compiled by the layout tests with the include folders of one module: CUBINET_HEADER may or may
// not be reached.
#include CUBINET_HEADER
