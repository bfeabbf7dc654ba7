// SPDX-License-Identifier: Apache-2.0
// Runs the publisher's selection code, which record.py compiles with this file, against a driver
// that executes nothing. Reads problems from stdin, one per line, as `key=value` words. Writes one
// JSON line per problem to stdout: the kernel that would be launched, or the error.
#include "flashinfer/trtllm/fmha/fmhaKernels.cuh"

#include <climits>

#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>

namespace {

constexpr int kSmCount = 148;
constexpr int kSharedBytes = 232448;

std::string launched;       // the function of the last launch
CUlaunchConfig the_launch;  // without its attributes
unsigned cluster = 1;

std::map<std::string, std::string> words_of(const std::string& line) {
  std::map<std::string, std::string> words;
  std::istringstream stream(line);
  for (std::string word; stream >> word;)
    words[word.substr(0, word.find('='))] = word.substr(word.find('=') + 1);
  return words;
}

Data_type type_of(const std::string& name) {
  if (name == "e4m3") return DATA_TYPE_E4M3;
  if (name == "e2m1") return DATA_TYPE_E2M1;
  return name == "fp16" ? DATA_TYPE_FP16 : DATA_TYPE_BF16;
}

// Returns the request that the publisher's launchers make for a problem.
TllmGenFmhaRunnerParams request_of(std::map<std::string, std::string> words) {
  const auto number = [&](const char* name) { return std::stoi(words[name]); };
  TllmGenFmhaRunnerParams request{};
  const std::string& operation = words["op"];
  const bool context = operation == "prefill" || operation == "ragged";
  request.mHeadDimQk = number("dqk");
  request.mHeadDimV = number("dv");
  request.mNumHeadsQ = number("hq");
  request.mNumHeadsKv = number("hkv");
  request.mNumHeadsQPerKv = request.mNumHeadsQ / request.mNumHeadsKv;
  request.mBatchSize = number("batch");
  request.mMaxSeqLenQ = number("q");
  request.mMaxSeqLenKv = number("kv");
  request.mNumTokensPerPage = operation == "ragged" ? 0 : number("page");
  request.mQkvLayout = operation == "ragged" ? QkvLayout::SeparateQkv : QkvLayout::PagedKv;
  request.mMultiProcessorCount = kSmCount;
  request.mChunkedAttentionSize = INT_MAX;
  request.mAttentionWindowSize = number("window") == 0 ? INT_MAX : number("window");
  request.mSparseMlaTopK = words.count("topk") != 0 ? number("topk") : 0;
  request.mSparseMlaType =
      request.mSparseMlaTopK > 0 ? TrtllmGenSparseMlaType::StaticTokenSparse : TrtllmGenSparseMlaType::None;
  const bool dense = context ? words["mask"] == "dense" : operation == "mla";
  request.mMaskType = dense ? TrtllmGenAttentionMaskType::Dense : TrtllmGenAttentionMaskType::Causal;
  request.mKernelType = context ? FmhaKernelType::Context : FmhaKernelType::Generation;
  request.mTileScheduler = context ? TileScheduler::Persistent : TileScheduler::Static;
  request.mMultiCtasKvMode = !context;
  return request;
}

std::string json_text(std::string text) {
  for (char& letter : text)
    if (letter == '"' || letter == '\\' || letter < ' ') letter = '\'';
  return '"' + text + '"';
}

}  // namespace

CUresult cuCtxGetDevice(CUdevice* device) {
  *device = 0;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute, CUdevice) {
  *value = kSharedBytes;
  return CUDA_SUCCESS;
}
CUresult cuFuncSetAttribute(CUfunction, CUfunction_attribute, int) {
  return CUDA_SUCCESS;
}
CUresult cuModuleLoadData(CUmodule* module, const void*) {
  *module = nullptr;
  return CUDA_SUCCESS;
}
// A function's handle is the address of its name, which the rows own.
CUresult cuModuleGetFunction(CUfunction* function, CUmodule, const char* name) {
  *function = reinterpret_cast<CUfunction>(const_cast<char*>(name));
  return CUDA_SUCCESS;
}
CUresult cuOccupancyMaxActiveClusters(int* clusters, CUfunction, const CUlaunchConfig*) {
  *clusters = 1 << 20;
  return CUDA_SUCCESS;
}
CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void**, void**) {
  launched = reinterpret_cast<const char*>(function);
  the_launch = *config;
  cluster = config->attrs[0].value.clusterDim.x;
  return CUDA_SUCCESS;
}
CUresult cuGetErrorName(CUresult, const char** name) {
  *name = "error";
  return CUDA_SUCCESS;
}
cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}

namespace flashinfer::trtllm_cubin_loader {
std::string getCubin(const std::string&, const std::string&) {
  return "cubin";
}
}  // namespace flashinfer::trtllm_cubin_loader

namespace tensorrt_llm::kernels {
// The publisher's reduction refuses these types after the selected kernel was launched.
void runFmhaReduction(TllmGenFmhaKernelMetaInfo const& row, KernelParams const&, int32_t, bool,
                      cudaStream_t) {
  const bool separate =
      static_cast<MultiCtasKvMode>(row.mMultiCtasKvMode) == MultiCtasKvMode::GmemReductionWithSeparateKernel;
  if (separate && row.mDataTypeO == DATA_TYPE_E2M1)
    throw std::runtime_error("the reduction has no such type");
}
}  // namespace tensorrt_llm::kernels

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    auto words = words_of(line);
    std::string error;
    launched.clear();
    try {
      const auto* kernels = getTllmFmhaKernels(type_of(words["tq"]), type_of(words["tkv"]),
                                               type_of(words["tkv"]), type_of(words["to"]), kSM_100);
      kernels->run(request_of(words));
    } catch (const std::exception& failure) {
      error = failure.what();
      // The place in the source is left out.
      const std::size_t place = error.find(".cuh:");
      if (place != std::string::npos) error.erase(0, error.find(": ", place) + 2);
    }
    std::cout << "{\"problem\":" << json_text(line) << ",\"error\":";
    if (!error.empty()) {
      std::cout << json_text(error.substr(0, 200)) << ",\"launches\":[]}\n";
      continue;
    }
    std::cout << "null,\"launches\":[{\"function\":" << json_text(launched) << ",\"grid\":["
              << the_launch.gridDimX << ',' << the_launch.gridDimY << ',' << the_launch.gridDimZ
              << "],\"cluster\":" << cluster << "}]}\n";
  }
}
