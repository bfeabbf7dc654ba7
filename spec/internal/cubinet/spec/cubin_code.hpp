// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>
#include <cubinet/base/result.hpp>
#include <cubinet/base/sha256.hpp>

#include <map>
#include <string>

namespace cubinet {

// The digests, by name, of the parts of a cubin that determine its behaviour. They do not depend on
// the names of variables and device functions, the order of symbols, notes or debug sections.
using CodeParts = std::map<std::string, Sha256Digest, std::less<>>;

struct CubinCode {
  // The parts of each kernel, by its symbol:
  //   code        .text.<kernel>, its relocations, and .nv.capmerc.text.<kernel>, from which a
  //               driver makes code for another device of the family
  //   constants   .nv.constant<bank>.<kernel>
  //   resources   registers and stack (.nv.info), size and alignment of .nv.shared.<kernel> and
  //               .nv.local.<kernel>
  //   attributes  .nv.info.<kernel> without the toolkit's version: arguments, launch bounds,
  //               barriers
  std::map<std::string, CodeParts, std::less<>> kernels;
  // The parts of the module:
  //   functions   code and resources of the functions that are not kernels
  //   data        .nv.constant3 and the variables whose addresses .nv.constant4 holds, each only if
  //               an instruction reads that constant bank
  CodeParts module;

  bool operator==(const CubinCode&) const = default;
};

// Reads the code of a cubin. Returns corruption for bytes that are not a cubin.
Result<CubinCode> read_cubin_code(ByteView image);
// Reads the same without `data`.
Result<CubinCode> read_cubin_code_without_data(ByteView image);

}  // namespace cubinet
