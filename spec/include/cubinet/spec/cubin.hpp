// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>
#include <cubinet/base/sha256.hpp>
#include <cubinet/spec/kernel_key.hpp>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace cubinet {

// The digest of everything that a cubin was built from, apart from its identity: template and
// header contents, compile options and the compiler's build. Two builds with equal fingerprints are
// interchangeable.
struct BuildFingerprint {
  Sha256Digest digest;

  std::string to_string() const { return digest.to_hex(); }
  friend auto operator<=>(const BuildFingerprint&, const BuildFingerprint&) = default;
};

// A launchable function of a cubin and everything that its launch needs.
struct EntryPoint {
  std::string name;           // the name in the template or source
  std::string symbol;         // the name in the ELF (differs for C++ name expressions)
  std::uint32_t threads = 0;  // per block, in x; 0: each launch sets the block
  std::uint32_t threads_y = 1;
  std::uint32_t threads_z = 1;
  std::uint32_t dynamic_shared_bytes = 0;  // per block
  // The size of the one by-value argument structure; 0: several arguments, unchecked.
  std::uint32_t parameter_bytes = 0;
  std::array<std::uint32_t, 3> cluster = {1, 1, 1};
  // A launch may start before its predecessor ends, because the kernel waits for it itself
  // (griddepcontrol). True for kernels of user sources and images: their launches decide.
  bool programmatic_launch = false;
  bool cooperative = false;

  std::array<std::uint32_t, 3> block() const { return {threads, threads_y, threads_z}; }
  std::uint64_t threads_of_block() const;  // the total; the largest value if it exceeds 64 bits
  // Returns `name`. If it is only a mangled symbol ("_ZN2my5scaleEPf"), returns the qualified name
  // ("my::scale"); symbols of template instances stay as they are.
  std::string cpp_name() const;
  friend bool operator==(const EntryPoint&, const EntryPoint&) = default;
};

// The origin of an entry. A local build is current while its fingerprint equals that of the current
// build. An entry from a bundle is current while its interface version matches. An entry of an
// imported folder is current as long as it exists. Stored in records: DO NOT RENUMBER.
enum class CubinOrigin : std::uint8_t { compiled = 0, bundle = 1, imported = 2 };
std::string_view to_string(CubinOrigin origin);  // "compiled", "bundle", "imported"

// The kind of an image: machine code, PTX that the driver compiles when it is loaded, or an entry
// of another compiler's cache. A cache entry is only restored to that compiler's cache and is never
// loaded here. PTX runs on devices that no cubin was built for; every other kind is preferred to
// it. Stored in records: DO NOT RENUMBER.
enum class ImageKind : std::uint8_t { cubin = 0, ptx = 1, cache_entry = 2 };

// Everything that is known about a cubin without opening it. It is stored with the bytes: in a
// registry's record files and index, and in a bundle's manifest.
struct CubinRecord {
  KernelIdentity identity;
  SmTarget target;                    // the same as in `identity`, decoded
  ImageKind kind = ImageKind::cubin;  // for PTX, `target` is its virtual target
  BuildFingerprint fingerprint;
  Sha256Digest digest;                  // of the image
  std::uint64_t size = 0;               // of the image, in bytes
  std::uint32_t interface_version = 0;  // of the template's argument structure and semantics
  // The digest of the template's text that it was built from (KernelTemplate::text_digest()).
  // Zeros: not known, for example of a published kernel.
  Sha256Digest template_text;
  CubinOrigin origin = CubinOrigin::compiled;
  // The version of the bundle it came from, or the number under which its folder was imported; 0
  // for a local build.
  std::uint64_t version = 0;
  std::vector<EntryPoint> entry_points;
  // The symbols of the module's variables that were requested by C++ name. Other variables are
  // known by their symbols only.
  std::map<std::string, std::string, std::less<>> globals{};
  std::string compiler;  // "NVRTC 13.0, build 4f1c…", for display
  std::string options;   // the compile options on one line, for display
  std::string warnings;  // the compiler's log of a successful build
  // Its encoded row in the kernel table (kernel_table/row_codec.hpp), or empty if its template
  // declares none. Stored unchanged: nothing here depends on its content.
  Bytes row{};

  // Returns "sm_90a", or "compute_90a" for PTX.
  std::string target_name() const;
  const EntryPoint* find_entry_point(std::string_view name) const;
  friend bool operator==(const CubinRecord&, const CubinRecord&) = default;
};

// Returns the record's bytes, little-endian. The layout is docs/formats/record.md:
//   "CREC" u16 version, fields, 32 bytes SHA-256 of all preceding bytes.
// Version history: 5 (2026-11) the digest of the template's text. Earlier versions were never
// released.
inline constexpr std::uint16_t kRecordVersion = 5;
Bytes encode_record(const CubinRecord& record);
// Returns corruption for damaged bytes and for values above the limits, and unsupported for a newer
// version.
Result<CubinRecord> decode_record(ByteView bytes);

// The size limits of records and images. Reads are limited too, because a stated length must not
// exhaust memory. A record has a few hundred bytes, plus its row and the warnings of one
// compilation. Known images are smaller than 10 MiB.
inline constexpr std::uint64_t kMaximumRecordBytes = std::uint64_t{16} << 20;
inline constexpr std::uint64_t kMaximumImageBytes = std::uint64_t{64} << 20;
// The limit for one image, which is made from one translation unit. Libraries consist of many
// files.
inline constexpr std::uint32_t kMaximumImageKernels = 4096;
// The limit of the variables that a record names.
inline constexpr std::uint32_t kMaximumImageGlobals = 4096;

// Returns invalid_argument if the cubin's record could not be read back. Called before a cubin is
// stored in a home, a bundle or a file.
Result<void> check_storable(const CubinRecord& record);

// Cubin bytes in memory that were checked against record->digest. Immutable and shared, so that the
// verified bytes are the ones that are loaded.
struct Cubin {
  std::shared_ptr<const CubinRecord> record;
  std::shared_ptr<const Bytes> image;
};

}  // namespace cubinet
