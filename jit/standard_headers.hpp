// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

// Stand-ins for headers of the C and C++ libraries, which NVRTC does not have. CCCL (CUDA's C++
// core libraries, a part of the toolkit) has their counterparts in cuda::std. Where CCCL is found,
// `<cstdint>` and the like are a header of ours that brings those into std. Not every name of a
// header has a counterpart there.

// Returns the names under which releases of CCCL may have the header's counterpart. Empty if there
// is none.
std::vector<std::string> counterparts_in_cccl(std::string_view header);

// Returns the text of our header, which may be included within `extern "C"`. REQUIRES:
// `counterpart` is the included name of CCCL's header.
std::string standard_header(std::string_view header, std::string_view counterpart);

// Returns the text of a C header that needs nothing of CCCL: its names are built into NVRTC, as far
// as device code can use them (printf, assert, malloc, memcpy, sin), or are types and macros.
// Returns nullopt for any other header.
std::optional<std::string> header_without_cccl(std::string_view header);

// Returns whether a header of the toolkit belongs to CCCL, by its name below the toolkit's folder.
bool is_of_cccl(std::string_view name);

// NVRTC declares an own copy of the toolkit's <library_types.h>, which is older than the header in
// some releases (13.0). With kLibraryTypesFlag NVRTC leaves its copy out, and the header, which
// begins with kLibraryTypesPrefix, is read.
inline constexpr std::string_view kLibraryTypesName = "library_types.h";
inline constexpr std::string_view kLibraryTypesFlag = "-D__LIBRARY_TYPES_H__=2";
inline constexpr std::string_view kLibraryTypesPrefix =
    "#if __LIBRARY_TYPES_H__ + 0 == 2\n#undef __LIBRARY_TYPES_H__\n#endif\n#line 1\n";

}  // namespace cubinet
