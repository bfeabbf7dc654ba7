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

// A dictionary, made ready to unpack with. Immutable; any thread may use it.
class ZstdDictionary {
 public:
  // nullptr where there is no memory for it.
  static std::shared_ptr<const ZstdDictionary> of(ByteView bytes);
  const ZSTD_DDict_s* get() const { return dictionary_.get(); }

 private:
  struct Free {
    void operator()(ZSTD_DDict_s* dictionary) const;
  };
  std::unique_ptr<ZSTD_DDict_s, Free> dictionary_;
};

// Returns true if the bytes begin as a frame does.
bool is_zstd_frame(ByteView bytes);
// Unpacks exactly one frame that states `size` bytes. `dictionary` may be nullptr. corruption otherwise, also
// for bytes behind the frame.
Result<Bytes> unpack_zstd(ByteView stored, std::size_t size, const ZstdDictionary* dictionary);
// Unpacks a frame that states at most `limit` bytes.
Result<Bytes> unpack_zstd_within(ByteView stored, std::size_t limit);

// A frame that states its size, as dense as pages are packed.
Bytes pack_zstd(ByteView bytes);

// A dictionary of at most `size` bytes for what resembles these samples, which lie one behind the other;
// empty where they are too few or too small for one.
Bytes train_dictionary(ByteView samples, std::span<const std::size_t> sizes, std::size_t size);

// Packs with a dictionary, which may be empty. Any thread may use it; the bytes do not depend on which.
class ZstdPacker {
 public:
  // What a frame holds beside the dictionary: less than it, or as much.
  enum class Frames { small, large };
  explicit ZstdPacker(ByteView dictionary, Frames frames = Frames::small);
  ~ZstdPacker();
  ZstdPacker(const ZstdPacker&) = delete;
  ZstdPacker& operator=(const ZstdPacker&) = delete;

  // A frame that states its size.
  Bytes pack(ByteView content) const;

 private:
  struct Free {
    void operator()(ZSTD_CCtx_s* context) const;
  };
  using Context = std::unique_ptr<ZSTD_CCtx_s, Free>;
  Context take_context() const;

  const ByteView dictionary_;  // of whoever made this
  const Frames frames_;
  mutable std::mutex mutex_;
  mutable std::vector<Context> idle_;  // made ready: to load a dictionary takes longer than to pack an image
};

// The beginning of the name of every release of libzstd.
inline constexpr std::string_view kZstdName = "libzstd ";
// Returns the release of libzstd that packs in this process: "libzstd 1.5.4".
std::string zstd_release();

}  // namespace cubinet
