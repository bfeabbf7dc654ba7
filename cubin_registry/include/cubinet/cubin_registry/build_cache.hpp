// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>
#include <cubinet/spec/cubin.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace cubinet {

// A cache of builds that several nodes share. It cannot be listed: the Runtime queries one exact
// build just before compiling it, and keeps a hit in its first writable store. Its builds are
// reported as KernelSource::server. Thread-safe. In a process forked after the cache was opened,
// every call except the destructor returns unavailable or does nothing.
class BuildCache {
 public:
  virtual ~BuildCache() = default;

  // Returns the cache's reference, for messages. Constant while the cache is open.
  virtual const std::string& place() const = 0;
  // Returns the verified build of this identity, kind and fingerprint, or nullopt for a miss.
  virtual Result<std::optional<Cubin>> find_build(const KernelIdentity& identity, ImageKind kind,
                                                  const BuildFingerprint& fingerprint) = 0;
  // Offers a build that was made here to other nodes. Returns at once; the outcome is logged.
  virtual void share(const Cubin& cubin) = 0;
  // Returns the bytes received over a network since it was opened.
  virtual std::uint64_t fetched_bytes() const { return 0; }
};

}  // namespace cubinet
