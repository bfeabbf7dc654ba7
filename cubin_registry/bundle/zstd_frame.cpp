// SPDX-License-Identifier: Apache-2.0
#include "bundle/zstd_frame.hpp"

#include "bundle/dictionary_content.hpp"

#include <zstd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <new>
#include <utility>
#include <zdict.h>

namespace cubinet {
namespace {

constexpr int kPageLevel = 19;
// The parameters of frames. On published cubins, plain level 19, which examines 128 candidates per
// byte instead of 8, takes twice as long for 5 % less. Matches below 6 bytes are seldom useful
// among instructions of 16, and each match is read from another location when it is decompressed.
constexpr std::pair<ZSTD_cParameter, int> kFrameParameters[] = {
    {ZSTD_c_compressionLevel, 19}, {ZSTD_c_strategy, ZSTD_btopt}, {ZSTD_c_minMatch, 6},
    {ZSTD_c_searchLog, 3},         {ZSTD_c_targetLength, 96},     {ZSTD_c_hashLog, 20},
};
// The header before a dictionary's content has about 200 bytes.
constexpr std::size_t kDictionaryHeader = 1024;
// A million positions: images have about 100 KB, seldom 300.
constexpr int kLeastChainLog = 21;
// The frame of an empty content.
constexpr unsigned char kEmptyFrame[] = {0x28, 0xb5, 0x2f, 0xfd, 0x20, 0, 1, 0, 0};

Error no_frame(const std::string& reason) {
  return Error{ErrorCode::corruption, "it cannot be unpacked: " + reason};
}

struct FreeContext {
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

}  // namespace

void ZstdDictionary::Free::operator()(ZSTD_DDict_s* dictionary) const {
  ZSTD_freeDDict(dictionary);
}

std::shared_ptr<const ZstdDictionary> ZstdDictionary::of(ByteView bytes) {
  auto made = std::make_shared<ZstdDictionary>();
  made->dictionary_.reset(ZSTD_createDDict(bytes.data(), bytes.size()));
  return made->dictionary_ != nullptr ? made : nullptr;
}

bool is_zstd_frame(ByteView bytes) {
  constexpr std::array kMagic = {std::byte{0x28}, std::byte{0xb5}, std::byte{0x2f}, std::byte{0xfd}};
  return bytes.size() >= kMagic.size() && std::equal(kMagic.begin(), kMagic.end(), bytes.begin());
}

Result<Bytes> unpack_zstd(ByteView stored, std::size_t size, const ZstdDictionary* dictionary) {
  // The library would decompress several frames and ignore skippable ones.
  if (!is_zstd_frame(stored) || ZSTD_getFrameContentSize(stored.data(), stored.size()) != size)
    return no_frame("it states another length");
  if (ZSTD_findFrameCompressedSize(stored.data(), stored.size()) != stored.size())
    return no_frame("it is not one whole frame");
  // The library creates tables of 100 KB for each context, so there is one per thread.
  thread_local const std::unique_ptr<ZSTD_DCtx, FreeContext> context(ZSTD_createDCtx());
  if (context == nullptr) return no_frame("there is no memory for it");
  Bytes bytes(size);
  // Matches are spread over a dictionary that exceeds the CPU's caches. The library prefetches them
  // only for the first frame after loading it. Decompressing an empty frame makes each frame the
  // first.
  if (dictionary != nullptr)
    static_cast<void>(ZSTD_decompressDCtx(context.get(), nullptr, 0, kEmptyFrame, sizeof(kEmptyFrame)));
  const std::size_t got =
      dictionary != nullptr
          ? ZSTD_decompress_usingDDict(context.get(), bytes.data(), size, stored.data(), stored.size(),
                                       dictionary->get())
          : ZSTD_decompressDCtx(context.get(), bytes.data(), size, stored.data(), stored.size());
  if (ZSTD_isError(got) != 0) return no_frame(ZSTD_getErrorName(got));
  if (got != size) return no_frame("it holds another length");
  return bytes;
}

Result<Bytes> unpack_zstd_within(ByteView stored, std::size_t limit) {
  const unsigned long long size = ZSTD_getFrameContentSize(stored.data(), stored.size());
  if (size > limit) return no_frame("it states an absurd length");  // so do the two errors
  return unpack_zstd(stored, static_cast<std::size_t>(size), nullptr);
}

void ZstdPacker::Free::operator()(ZSTD_CCtx_s* context) const {
  ZSTD_freeCCtx(context);
}

ZstdPacker::ZstdPacker(ByteView dictionary, Frames frames) : dictionary_(dictionary), frames_(frames) {}
ZstdPacker::~ZstdPacker() = default;

ZstdPacker::Context ZstdPacker::take_context() const {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      Context context = std::move(idle_.back());
      idle_.pop_back();
      return context;
    }
  }
  Context context(ZSTD_createCCtx());
  if (context == nullptr) throw std::bad_alloc();
  const auto check = [](std::size_t outcome) {
    if (ZSTD_isError(outcome) != 0) throw std::bad_alloc();  // it fails only if memory is exhausted
  };
  for (const auto& [parameter, value] : kFrameParameters)
    check(ZSTD_CCtx_setParameter(context.get(), parameter, value));
  // Each frame gets a copy of the dictionary's tables. If the dictionary is most of the searched
  // data, the tables are limited to its size, except for those of an image.
  if (!dictionary_.empty() && frames_ == Frames::small) {
    const int places = static_cast<int>(std::bit_width(dictionary_.size() - 1)) + 1;
    check(ZSTD_CCtx_setParameter(context.get(), ZSTD_c_chainLog, std::max(places, kLeastChainLog)));
  }
  check(ZSTD_CCtx_loadDictionary(context.get(), dictionary_.data(), dictionary_.size()));
  return context;
}

Bytes ZstdPacker::pack(ByteView content) const {
  Context context = take_context();
  Bytes packed(ZSTD_compressBound(content.size()));
  const std::size_t size =
      ZSTD_compress2(context.get(), packed.data(), packed.size(), content.data(), content.size());
  if (ZSTD_isError(size) != 0) throw std::bad_alloc();  // it fails only if memory is exhausted
  packed.resize(size);
  packed.shrink_to_fit();
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(context));
  return packed;
}

Bytes train_dictionary(ByteView samples, std::span<const std::size_t> sizes, std::size_t size) {
  if (size <= kDictionaryHeader) return {};
  const Bytes content = choose_dictionary_content(samples, sizes, size - kDictionaryHeader);
  if (content.empty()) return {};
  Bytes dictionary(size);
  const std::size_t got =
      ZDICT_finalizeDictionary(dictionary.data(), size, content.data(), content.size(), samples.data(),
                               sizes.data(), static_cast<unsigned>(sizes.size()), {});
  if (ZDICT_isError(got) != 0) return {};
  dictionary.resize(got);
  return dictionary;
}

Bytes pack_zstd(ByteView bytes) {
  Bytes packed(ZSTD_compressBound(bytes.size()));
  const std::size_t size =
      ZSTD_compress(packed.data(), packed.size(), bytes.data(), bytes.size(), kPageLevel);
  // Fails only if memory is exhausted.
  if (ZSTD_isError(size) != 0) throw std::bad_alloc();
  packed.resize(size);
  return packed;
}

std::string zstd_release() {
  return std::string(kZstdName) + ZSTD_versionString();
}

}  // namespace cubinet
