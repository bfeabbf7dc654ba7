// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/sha256.hpp>
#include <cubinet/spec/kernel_spec.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace cubinet {

// Where the choice among a header's kernels changed from one version of its publisher's code to the next, as
// switches. The defaults are the rules of FlashInfer at commit e079eee48, before 0.6.13.
struct SelectionRules {
  // Splits of KV are brought together in a cluster where a row has 512 columns of V (not from #3089 on).
  bool clusters_at_512_columns = true;
  // Query tokens of an e2m1 output share a tile as those of other outputs do (from #2988 on).
  bool groups_tokens_of_e2m1_output = false;

  friend bool operator==(const SelectionRules&, const SelectionRules&) = default;
};

// A published metadata header of attention kernels whose content is known. A cubin does not say how its
// arguments are laid out, and its size does not name the layout (1,152 bytes are taken by cubins of several
// versions, between which 25 members move): the header's bytes do.
struct PublishedHeader {
  std::string_view sha256;     // of the header's bytes, 64 hex digits
  std::string_view publisher;  // package and version: "flashinfer-cubin 0.6.13"
  std::string_view
      argument_layout;  // the name of its kernels' arguments' layout: "0.6.13"; empty: none known
  std::uint32_t argument_bytes = 0;  // of EIATTR_CBANK_PARAM_SIZE in every one of its cubins
  SelectionRules rules = {};
};

// Whether people mean this pin (64 hex digits) by a text: its beginning, or the version that published it, in
// whole ("flashinfer-cubin 0.6.13") or by its last word.
bool names_pin(std::string_view text, std::string_view pin);

// How people name one kernel of several with a function of that name: "FUNCTION@" and the beginning of its
// pin, or its specification where it has no pin.
std::string name_with_pin(const KernelSpec& spec, std::string_view function);

// The header of a row's pin (64 hex digits); nullptr where it is not known.
const PublishedHeader* find_published_header(std::string_view pin);

// The header of that content; nullptr where it is not known. Lives as long as the program.
const PublishedHeader* find_published_header(const Sha256Digest& digest);

}  // namespace cubinet
