// SPDX-License-Identifier: Apache-2.0
// A libnvJitLink that has the functions of its releases and does nothing; "broken" lacks all but
// one.
#define CUBINET_STUB(name)                                       \
  extern "C" __attribute__((visibility("default"))) int name() { \
    return 1;                                                    \
  }
#define CUBINET_STUB_RELEASE(version)                   \
  CUBINET_STUB(__nvJitLinkDestroy_##version)            \
  CUBINET_STUB(__nvJitLinkAddData_##version)            \
  CUBINET_STUB(__nvJitLinkComplete_##version)           \
  CUBINET_STUB(__nvJitLinkGetLinkedCubinSize_##version) \
  CUBINET_STUB(__nvJitLinkGetLinkedCubin_##version)     \
  CUBINET_STUB(__nvJitLinkGetLinkedPtxSize_##version)   \
  CUBINET_STUB(__nvJitLinkGetLinkedPtx_##version)       \
  CUBINET_STUB(__nvJitLinkGetErrorLogSize_##version)    \
  CUBINET_STUB(__nvJitLinkGetErrorLog_##version)        \
  CUBINET_STUB(__nvJitLinkGetInfoLogSize_##version)     \
  CUBINET_STUB(__nvJitLinkGetInfoLog_##version)

#ifdef CUBINET_STUB_BROKEN
CUBINET_STUB(__nvJitLinkCreate_13_7)
#else
CUBINET_STUB(__nvJitLinkCreate_12_9)
CUBINET_STUB(__nvJitLinkCreate_12_10)
CUBINET_STUB_RELEASE(12_10)
#endif
