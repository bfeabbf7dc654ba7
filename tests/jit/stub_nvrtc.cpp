// SPDX-License-Identifier: Apache-2.0
// A libnvrtc that tells a version and has no other function.
extern "C" __attribute__((visibility("default"))) int nvrtcVersion(int* major, int* minor) {
  *major = CUBINET_STUB_MAJOR;
  *minor = CUBINET_STUB_MINOR;
  return 0;
}
