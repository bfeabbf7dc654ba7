// SPDX-License-Identifier: Apache-2.0
#include "artifacts/published_folder.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <set>
#include <thread>

namespace cubinet::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kHeaderHead = R"(#pragma once
// clang-format off
struct TllmGenFmhaKernelMetaInfo
{
    Data_type mDataTypeQ; Data_type mDataTypeKv; Data_type mDataTypeO;
    int mTileSizeQ; int mTileSizeKv; int mStepKv; int mHeadDimQk; int mHeadDimV;
    int mSM; const char* mFuncName; int mSharedMemBytes; int mThreadsPerCTA;
    int mQkvLayout; int mNumTokensPerPage; int mMaskType; int mKernelType; int mTileScheduler;
    const char* sha256;
};
static const TllmGenFmhaKernelMetaInfo sTllmGenFmhaKernelMetaInfos[] = {
)";

SmTarget target_of(std::string_view arch) {
  const auto target = SmTarget::parse(arch);
  REQUIRE(target);
  return *target;
}

}  // namespace

std::string published_name(std::string_view arch, unsigned page, std::string_view scheduler) {
  return "fmhaSm" + std::string(arch) + "Kernel_QkvE4m3OBfloat16H128PagedKvCausalP" + std::to_string(page) +
         "VarSeqQ8Kv128" + std::string(scheduler) + "SwapsAbForGen";
}

Bytes published_image(const std::string& function, SmTarget target, std::uint8_t filler) {
  FakeCubin description;
  description.target = target;
  description.kernels = {{function, 0}, {function + "GetSmemSize", 0}};
  description.filler = filler;
  return make_fake_cubin(description);
}

PublishedKernel published_kernel(std::string_view arch, unsigned page) {
  const std::string function = published_name(arch, page);
  PublishedKernel kernel{function, published_image(function, target_of(arch))};
  kernel.page = page;
  kernel.target = "kSM_" + std::string(arch);
  if (kernel.target.back() == 'a') kernel.target.pop_back();  // as published: kSM_100 is sm_100a
  return kernel;
}

void PublishedFolder::write() const {
  write_cubins();
  write_header();
  write_list();
}

void PublishedFolder::write_cubins() const {
  fs::create_directories(path_);
  for (const PublishedKernel& kernel : kernels_)
    write_file(path_ / (kernel.function + ".cubin"), kernel.image);
}

void PublishedFolder::write_header() const {
  std::string text = kHeaderHead;
  for (const PublishedKernel& kernel : kernels_) {
    const std::string digest = kernel.digest.empty() ? sha256(kernel.image).to_hex() : kernel.digest;
    text += "{ DATA_TYPE_E4M3, DATA_TYPE_E4M3, DATA_TYPE_BF16, 8, 128, 128, 128, 128, " + kernel.target +
            ", \"" + kernel.function + "\", 64656, " + std::to_string(kernel.threads) + ", 2, " +
            std::to_string(kernel.page) + ", 1, 2, " + std::to_string(kernel.scheduler) + ", \"" + digest +
            "\"},\n";
  }
  fs::create_directories(path_ / "include");
  write_file(path_ / "include/flashInferMetaInfo.h", text + "};\n// clang-format on\n");
}

void PublishedFolder::write_list() const {
  std::set<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(path_)) {
    if (entry.is_regular_file() && entry.path().filename() != "checksums.txt")
      names.insert(entry.path().lexically_relative(path_).string());
  }
  std::string text;
  for (const std::string& name : names)
    text += sha256(as_bytes(read_file(path_ / name))).to_hex() + "  " + name + "\n";
  write_file(path_ / "checksums.txt", text);
}

PublishedFolder sound_folder(const fs::path& path) {
  PublishedFolder folder(path);
  for (const unsigned page : {16U, 32U, 64U})
    folder.add(published_kernel("100f", page));
  folder.add(published_kernel("100a", 256));
  folder.add(published_kernel("103a", 16));
  folder.add(published_kernel("103a", 256));
  folder.write();
  return folder;
}

std::string read_file(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  REQUIRE(stream.good());
  return std::string(std::istreambuf_iterator<char>(stream), {});
}

void flip_bit_at(const fs::path& path, std::size_t offset) {
  std::string content = read_file(path);
  content.at(offset) = static_cast<char>(content.at(offset) ^ 1);
  write_file(path, content);
}

void let_files_settle() {
  std::this_thread::sleep_for(std::chrono::milliseconds(80));
}

}  // namespace cubinet::test
