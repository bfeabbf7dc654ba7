// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/sha256.hpp>
#include <cubinet/spec/kernel_spec.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace cubinet {

// The rules for choosing among a header's kernels that changed between versions of its publisher's
// code. The defaults are the rules of FlashInfer at commit e079eee48, before 0.6.13.
struct SelectionRules {
  // If true, splits of KV are combined in a cluster when a row has 512 columns of V (false from
  // #3089 on).
  bool clusters_at_512_columns = true;
  // If true, query tokens of an e2m1 output share a tile like those of other outputs (from #2988
  // on).
  bool groups_tokens_of_e2m1_output = false;

  friend bool operator==(const SelectionRules&, const SelectionRules&) = default;
};

// A known published metadata header of attention kernels. The header's bytes identify the layout of
// its kernels' arguments. A cubin does not state the layout, and the size of its arguments does not
// identify it: cubins of several versions, between which 25 members move, all take 1,152 bytes.
struct PublishedHeader {
  std::string_view sha256;     // of the header's bytes, 64 hex digits
  std::string_view publisher;  // package and version: "flashinfer-cubin 0.6.13"
  // The name of the layout of its kernels' arguments: "0.6.13". Empty if unknown.
  std::string_view argument_layout;
  std::uint32_t argument_bytes = 0;  // EIATTR_CBANK_PARAM_SIZE of every one of its cubins
  SelectionRules rules = {};
};

// Returns whether a user's text denotes this pin (64 hex digits). It may be the beginning of the
// pin, the publishing version ("flashinfer-cubin 0.6.13"), or the last word of that version.
bool names_pin(std::string_view text, std::string_view pin);

// Returns a user-visible name that distinguishes a kernel from others with a function of the same
// name. It is "FUNCTION@" and the beginning of its pin, or its specification if it has no pin.
std::string name_with_pin(const KernelSpec& spec, std::string_view function);

// Returns the header of a row's pin (64 hex digits), or nullptr if it is unknown.
const PublishedHeader* find_published_header(std::string_view pin);

// Returns the header with this content, or nullptr if it is unknown. Valid until the program ends.
const PublishedHeader* find_published_header(const Sha256Digest& digest);

}  // namespace cubinet
