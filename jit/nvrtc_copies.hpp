// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nvrtc_api.hpp"

#include <cstddef>
#include <future>
#include <memory>
#include <mutex>
#include <vector>

namespace cubinet {

// The NVRTC of a compiler, and further copies of the library in the same process. NVRTC's front end
// takes one source at a time (13.0: about 0.08 s of the 0.5 to 2 s of an attention kernel), so with
// many threads they would wait for each other. The locks of a copy are its own. Thread-safe.
class NvrtcCopies {
 private:
  struct Copy {
    std::shared_future<std::shared_ptr<const NvrtcApi>> api;  // null: the library cannot be copied
    unsigned users = 0;
  };

 public:
  // Copies are made on demand, and at most kMaximum.
  static constexpr unsigned kUsers = 4;  // of a copy, before another one is made
  static constexpr unsigned kAlone = 1;
  static constexpr std::size_t kMaximum = 8;

  // The use of a copy by one compilation: of the copy with the fewest users, of a new one, which
  // takes about 0.1 s to load, or of the original if the library cannot be copied.
  class Lease {
   public:
    // Makes a new copy if all have `users` or more. `copies` must outlive it.
    explicit Lease(NvrtcCopies& copies, unsigned users = kUsers);
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    ~Lease();
    const NvrtcApi& api() const;

   private:
    NvrtcCopies& copies_;
    Copy& copy_;
  };

  explicit NvrtcCopies(std::shared_ptr<const NvrtcApi> original);

  // Returns the number of copies, with the original.
  std::size_t count() const;

 private:
  Copy& acquire(unsigned users);
  Copy& choose(unsigned users, std::promise<std::shared_ptr<const NvrtcApi>>& added, bool& adds);

  const std::shared_ptr<const NvrtcApi> original_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Copy>> copies_;  // guarded, with their users; the original is the first
};

}  // namespace cubinet
