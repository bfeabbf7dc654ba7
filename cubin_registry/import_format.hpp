// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/cubin_registry/artifact_store.hpp>

#include <cstdint>

namespace cubinet {

// imports/<number>.import as bytes, little-endian; docs/formats/import.md:
//
//   <import>  ::= <head> <body>
//   <head>    ::= "CIMP" u16 kImportVersion, u32 content bytes, <content>, 32 bytes SHA-256 of all that
//   precedes <content> ::= <string> folder, u8 placement, u64 rows, u64 plain, u64 files, u64 file bytes,
//                 u64 body bytes, 32 bytes SHA-256 of the body
//   <body>    ::= <string> table (CTAB), u32 count { <plain> }, u32 count { <file> }
//   <plain>   ::= <string> name, u32 shared bytes, u32 threads, u16 major, u16 minor, u8 kind, 32 bytes
//   digest <file>    ::= <string> name, 32 bytes digest, u64 size            ; ascending by name
//
// The import's number is the file's name and nowhere else, so that equal contents are equal bytes.
// Version history: 1 (2026-11) the first.
inline constexpr std::uint16_t kImportVersion = 1;
// Of a file, written or read: twenty-five times the largest that is known.
inline constexpr std::uint64_t kMaximumImportBytes = std::uint64_t{256} << 20;

// invalid_argument for what could not be read back: a relative folder, a file name that leads out of it, a
// row out of range, a kernel whose cubin is not among the files.
Result<void> check_import(const ArtifactImport& import);

// REQUIRES: check_import(import). The rows' provenance is not stored.
Result<Bytes> encode_import(const ArtifactImport& import);

// Any bytes give an import or an error: unsupported for a newer version, corruption otherwise. The rows have
// the provenance of an import of that number.
Result<ArtifactImport> decode_import(ByteView bytes, std::uint64_t number);
// What the head says, after both checksums were compared.
Result<ArtifactSummary> decode_import_summary(ByteView bytes, std::uint64_t number);

}  // namespace cubinet
