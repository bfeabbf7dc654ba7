// SPDX-License-Identifier: Apache-2.0
// A profiler for tests: appends "+NAME" for the begin of each NVTX range and "-" for its end to the
// file that NVTX_TEST_FILE names. NVTX loads it by NVTX_INJECTION64_PATH.
#include <cstdio>
#include <cstdlib>
#include <nvtx3/nvToolsExt.h>

namespace {

void append(const char* sign, const char* name) {
  const char* path = std::getenv("NVTX_TEST_FILE");
  std::FILE* file = path == nullptr ? nullptr : std::fopen(path, "a");
  if (file == nullptr) return;
  std::fprintf(file, "%s%s\n", sign, name);
  std::fclose(file);
}

int push(const char* name) {
  append("+", name);
  return 0;
}

int pop() {
  append("-", "");
  return 0;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(
    NvtxGetExportTableFunc_t table_of) {
  const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(table_of(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned int size = 0;
  if (callbacks == nullptr || callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &size) == 0)
    return 0;
  if (size <= NVTX_CBID_CORE_RangePop || size <= NVTX_CBID_CORE_RangePushA) return 0;
  *table[NVTX_CBID_CORE_RangePushA] = reinterpret_cast<NvtxFunctionPointer>(push);
  *table[NVTX_CBID_CORE_RangePop] = reinterpret_cast<NvtxFunctionPointer>(pop);
  return 1;
}
