// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/sha256.hpp>
#include <cubinet/kernel_table/kernel_row.hpp>
#include <cubinet/spec/kernel_spec.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace cubinet {

// A known published metadata header of attention kernels. The header's bytes identify the layout of
// its kernels' arguments. A cubin does not state the layout, and the size of its arguments does not
// identify it: cubins of several versions, between which 25 members move, all take 1,152 bytes.
struct PublishedHeader {
  // The digest of the header's bytes, 64 hex digits. Empty if no one here has seen the header: the
  // list of its folder then identifies it.
  std::string_view sha256;
  // The digest of the folder's checksums.txt, which lists the header. Empty if unknown.
  std::string_view list_sha256;
  std::string_view publisher;  // package and version: "flashinfer-cubin 0.6.13"
  // The name of the layout of its kernels' arguments: "0.6.13". Empty if unknown.
  std::string_view argument_layout;
  std::uint32_t argument_bytes = 0;  // EIATTR_CBANK_PARAM_SIZE of every one of its cubins
  // The newest version of the package with this header: its selection rules are the default.
  std::string_view rules;
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

// Returns the header of the folder whose checksums.txt has this digest, or nullptr if it is
// unknown.
const PublishedHeader* find_published_list(const Sha256Digest& digest);

// Returns the header that a row's pin names, or else the one whose argument layout the row has. An
// import gives rows a layout if the list of their folder is known. nullptr: neither is known.
const PublishedHeader* find_published_header(const KernelRow& row);

}  // namespace cubinet
