// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/text.hpp>
#include <cubinet/spec/cache_entry.hpp>
#include <cubinet/spec/cubin_elf.hpp>
#include <cubinet/spec/image_check.hpp>
#include <cubinet/spec/ptx.hpp>

#include <algorithm>

namespace cubinet {
namespace {

Result<void> check_ptx(const CubinRecord& record, ByteView image,
                       const std::vector<std::string_view>& symbols) {
  CUBINET_TRY_ASSIGN(const PtxInspection inspection, inspect_ptx(image));
  if (inspection.target != record.target) {
    return Error{ErrorCode::corruption, "not usable PTX: it is for " + inspection.target.compute_name() +
                                            " and listed as " + record.target_name()};
  }
  const std::vector<std::string_view> kernels(inspection.kernels.begin(), inspection.kernels.end());
  if (const std::string_view* missing = missing_symbol(kernels, symbols)) {
    return Error{ErrorCode::corruption,
                 "not usable PTX: it holds no kernel '" + printable(*missing, kQuotedBytes) + "'"};
  }
  return {};
}

}  // namespace

std::string toolkit_release(std::string_view text) {
  constexpr std::string_view kBefore = "Cuda compilation tools, release ";
  const std::size_t at = text.find(kBefore);
  if (at == std::string_view::npos) return {};
  text = text.substr(at + kBefore.size());
  return std::string(text.substr(0, std::min<std::size_t>(text.find_first_not_of("0123456789."), 8)));
}

const std::string_view* missing_symbol(const std::vector<std::string_view>& kernels,
                                       const std::vector<std::string_view>& symbols) {
  std::vector<std::string_view> there(kernels.begin(), kernels.end());
  std::sort(there.begin(), there.end());
  const auto missing = std::find_if(symbols.begin(), symbols.end(), [&](std::string_view symbol) {
    return !std::binary_search(there.begin(), there.end(), symbol);
  });
  return missing == symbols.end() ? nullptr : &*missing;
}

Result<void> check_image(const CubinRecord& record, ByteView image, OnlyArguments* arguments) {
  std::vector<std::string_view> symbols;
  symbols.reserve(record.entry_points.size());
  for (const EntryPoint& entry : record.entry_points)
    symbols.push_back(entry.symbol);
  switch (record.kind) {
    case ImageKind::ptx:
      return check_ptx(record, image, symbols);
    case ImageKind::cache_entry:
      if (auto files = decode_cache_entry(image); !files) return std::move(files).error();
      return {};
    case ImageKind::cubin:
      break;
  }
  return check_cubin(image, record.target, symbols, arguments);
}

}  // namespace cubinet
