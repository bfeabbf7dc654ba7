// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>
#include <cubinet/base/result.hpp>

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

struct ZSTD_CCtx_s;
struct ZSTD_DDict_s;

namespace cubinet {

// A dictionary, prepared for decompression. Immutable and thread-safe.
class ZstdDictionary {
 public:
  // Returns nullptr if memory is exhausted.
  static std::shared_ptr<const ZstdDictionary> of(ByteView bytes);
  const ZSTD_DDict_s* get() const { return dictionary_.get(); }

 private:
  struct Free {
    void operator()(ZSTD_DDict_s* dictionary) const;
  };
  std::unique_ptr<ZSTD_DDict_s, Free> dictionary_;
};

// Returns whether the bytes begin like a frame.
bool is_zstd_frame(ByteView bytes);
// Decompresses exactly one frame that states `size` bytes. `dictionary` may be nullptr. Returns an
// error (corruption) for anything else, including bytes behind the frame.
Result<Bytes> unpack_zstd(ByteView stored, std::size_t size, const ZstdDictionary* dictionary);
// Decompresses a frame that states at most `limit` bytes.
Result<Bytes> unpack_zstd_within(ByteView stored, std::size_t limit);

// Compresses at the level of pages, into a frame that states its size.
Bytes pack_zstd(ByteView bytes);

// Trains a dictionary of at most `size` bytes from these contiguous samples. Empty if they are too
// few or too small.
Bytes train_dictionary(ByteView samples, std::span<const std::size_t> sizes, std::size_t size);

// Compresses with a dictionary, which may be empty. Thread-safe, and the result does not depend on
// the thread.
class ZstdPacker {
 public:
  // The size of a frame's content: less than the dictionary's, or about the same.
  enum class Frames { small, large };
  explicit ZstdPacker(ByteView dictionary, Frames frames = Frames::small);
  ~ZstdPacker();
  ZstdPacker(const ZstdPacker&) = delete;
  ZstdPacker& operator=(const ZstdPacker&) = delete;

  // Compresses into a frame that states its size.
  Bytes pack(ByteView content) const;

 private:
  struct Free {
    void operator()(ZSTD_CCtx_s* context) const;
  };
  using Context = std::unique_ptr<ZSTD_CCtx_s, Free>;
  Context take_context() const;

  const ByteView dictionary_;  // owned by the creator
  const Frames frames_;
  mutable std::mutex mutex_;
  // Kept for reuse: loading a dictionary takes longer than compressing an image.
  mutable std::vector<Context> idle_;
};

// The prefix of every name of a libzstd release.
inline constexpr std::string_view kZstdName = "libzstd ";
// Returns the release of libzstd in this process: "libzstd 1.5.4".
std::string zstd_release();

}  // namespace cubinet
