// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/cubin_registry/imports.hpp>

#include <cstdint>

namespace cubinet {

// imports/<number>.import as bytes, little-endian (docs/formats/import.md):
//
// clang-format off
//   <import> ::= "CIMP" u16 kImportVersion, <string> folder, <string> pin,
//                <string> publisher's version, u8 placement, <string> table (CTAB),
//                u32 count { <plain> }, u32 count { <file> },
//                32 bytes SHA-256 of all that precedes
//   <plain>  ::= <string> name, u32 shared bytes, u32 threads, u16 major, u16 minor, u8 kind,
//                32 bytes digest
//   <file>   ::= <string> name, 32 bytes digest, u64 size  ; ascending by name
// clang-format on
//
// The import's number is stated only in the file's name, so equal contents are equal bytes. Version
// history: 3 (2026-11) pin and publisher's version, one checksum; 1 and 2 were never released.
inline constexpr std::uint16_t kImportVersion = 3;

// Returns an error (invalid_argument) if the import could not be read back: a relative folder, a
// file name that leaves the folder, a kernel whose cubin is not among the files.
Result<void> check_import(const ArtifactImport& import);

// Encodes an import. The rows' pin, version and source are not stored, because they are the
// import's. Returns an error (invalid_argument) for a row out of range. REQUIRES:
// check_import(import).
Result<Bytes> encode_import(const ArtifactImport& import);

// Decodes an import from any bytes. Returns unsupported for a newer version, corruption for damage.
// The rows have the import's pin, but neither version nor source.
Result<ArtifactImport> decode_import(ByteView bytes);

}  // namespace cubinet
