// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

// Headers of the C++ library that device code asks for, which NVRTC has none of. CCCL (CUDA's C++ core
// libraries, a part of the toolkit) has them as cuda::std; where CCCL is found, `<cstdint>` and the like are
// a header of ours that brings those into std. Not all of a header's names have a counterpart there.

// Whether NVRTC knows by itself what device code can use of a C header: printf, assert, malloc, memcpy, sin.
// An empty text stands in for it.
bool is_built_in(std::string_view header);
// The names under which CCCL may have the header, in its releases; none for a header that is not among these.
std::vector<std::string> counterparts_in_cccl(std::string_view header);
// The text of our header. REQUIRES: `counterpart` is the name of CCCL's, in the way in which it is included.
std::string standard_header(std::string_view header, std::string_view counterpart);

}  // namespace cubinet
