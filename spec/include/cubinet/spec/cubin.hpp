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

// What a cubin was built from, apart from its identity: template and header contents, compile options and the
// compiler's build. Two builds with equal fingerprints are interchangeable.
struct BuildFingerprint {
  Sha256Digest digest;

  std::string to_string() const { return digest.to_hex(); }
  friend auto operator<=>(const BuildFingerprint&, const BuildFingerprint&) = default;
};

// One launchable function of a cubin and all that its launch needs.
struct EntryPoint {
  std::string name;           // in the template or source
  std::string symbol;         // in the ELF file; differs from `name` for C++ name expressions
  std::uint32_t threads = 0;  // per block, in x; 0: the launch says them
  std::uint32_t threads_y = 1;
  std::uint32_t threads_z = 1;
  std::uint32_t dynamic_shared_bytes = 0;  // per block
  std::uint32_t parameter_bytes =
      0;  // size of the one by-value argument structure; 0: several arguments, unchecked
  std::array<std::uint32_t, 3> cluster = {1, 1, 1};
  bool programmatic_launch = false;  // waits for the previous kernel itself (griddepcontrol)
  bool cooperative = false;

  std::array<std::uint32_t, 3> block() const { return {threads, threads_y, threads_z}; }
  std::uint64_t threads_of_block() const;  // in total; saturates at 2^64 - 1
  // Returns `name`. If it is only a mangled symbol ("_ZN2my5scaleEPf"), returns the qualified name
  // ("my::scale"); symbols of template instances stay as they are.
  std::string cpp_name() const;
  friend bool operator==(const EntryPoint&, const EntryPoint&) = default;
};

// How an entry came to be where it is. A local build is current while its fingerprint is what would be built
// now; one from a bundle while its interface version fits; one of an imported folder as long as it is there.
// Stored in records: DO NOT RENUMBER.
enum class CubinOrigin : std::uint8_t { compiled = 0, bundle = 1, imported = 2 };
std::string_view to_string(CubinOrigin origin);  // "compiled", "bundle", "imported"

// What the image is: machine code, PTX that the driver compiles when it is loaded, or an entry of another
// compiler's cache, which is put back where that compiler looks and never loaded here. PTX runs on devices
// that no cubin was built for; everything else goes before it. Stored in records: DO NOT RENUMBER.
enum class ImageKind : std::uint8_t { cubin = 0, ptx = 1, cache_entry = 2 };

// Everything known of a cubin without opening it. Travels with the bytes: in a registry's record files and
// index, in a bundle's manifest.
struct CubinRecord {
  KernelIdentity identity;
  SmTarget target;                    // the same as in identity, decoded
  ImageKind kind = ImageKind::cubin;  // of PTX, `target` is the virtual one it was made for
  BuildFingerprint fingerprint;
  Sha256Digest digest;                  // of the image
  std::uint64_t size = 0;               // of the image, in bytes
  std::uint32_t interface_version = 0;  // of the template's argument structure and semantics
  CubinOrigin origin = CubinOrigin::compiled;
  // Of the bundle it came from, or the number under which its folder was imported; 0 for a local build.
  std::uint64_t version = 0;
  std::vector<EntryPoint> entry_points;
  // The module's variables that were asked for by C++ name, and what the ELF calls each of them. Others are
  // known by that name alone.
  std::map<std::string, std::string, std::less<>> globals{};
  std::string compiler;  // "NVRTC 13.0, build 4f1c…", for people
  std::string options;   // the compile options, one line, for people
  std::string warnings;  // the compiler's log of a successful build
  // Its row in the table of kernels, encoded (kernel_table/row_codec.hpp); empty where its template declares
  // none. Kept as it is: nothing here depends on what it says.
  Bytes row{};

  // "sm_90a", or "compute_90a" for PTX.
  std::string target_name() const;
  const EntryPoint* find_entry_point(std::string_view name) const;
  friend bool operator==(const CubinRecord&, const CubinRecord&) = default;
};

// The record's bytes, little-endian; the layout is docs/formats/record.md:
//   "CREC" u16 version, fields, 32 bytes SHA-256 of all that precedes.
// Version history: 4 (2026-11) identities of schema 2, imported kernels, blocks of three dimensions, globals;
// those before were never released.
inline constexpr std::uint16_t kRecordVersion = 4;
Bytes encode_record(const CubinRecord& record);
// corruption for damaged bytes and for what is above the limits, unsupported for a newer version.
Result<CubinRecord> decode_record(ByteView bytes);

// No record and no image of ours is larger, nor is any read that is: a stated length must not exhaust memory.
// A record is a few hundred bytes, its row and the warnings of one compilation; the images that are known are
// below 10 MiB.
inline constexpr std::uint64_t kMaximumRecordBytes = std::uint64_t{16} << 20;
inline constexpr std::uint64_t kMaximumImageBytes = std::uint64_t{64} << 20;
// Of one image: it is made of one translation unit, and libraries have many files.
inline constexpr std::uint32_t kMaximumImageKernels = 4096;
inline constexpr std::uint32_t kMaximumImageGlobals = 4096;  // that a record names

// Asked by whatever is about to keep a cubin (a home, a bundle, a file): invalid_argument where its record
// could not be read back.
Result<void> check_storable(const CubinRecord& record);

// Cubin bytes in memory that were checked against record->digest. Immutable and shared: what was verified is
// what is loaded.
struct Cubin {
  std::shared_ptr<const CubinRecord> record;
  std::shared_ptr<const Bytes> image;
};

}  // namespace cubinet
