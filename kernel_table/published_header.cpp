// SPDX-License-Identifier: Apache-2.0
#include <cubinet/kernel_table/published_header.hpp>

#include <algorithm>
#include <array>
#include <string>

namespace cubinet {
namespace {

constexpr std::size_t kPinShown = 12;

constexpr std::array<PublishedHeader, 4> kHeaders = {{
    {"2f605255e71d673768f5bece66dde9e2e9f4c873347bfe8fefcffbf86a3c847d",
     {},
     "flashinfer-cubin 0.4.0",
     "0.4.0",
     1088,
     "0.6.2"},
    {"c9a1572617ab34e9073d9166c5673434651f47fcd9cadf9320a7c99d7c6b9627",
     {},
     "flashinfer-cubin 0.6.2",
     "0.6.2",
     1152,
     "0.6.2"},
    {"f6781dfd70669167b7356fa77a805e7306443348a4b5d6a93732a27ebbb3b418",
     "c2d9399b2537be785882354a4f9902ed6c03136c0ea341e201eac40c3923e1dc", "flashinfer-cubin 0.6.13", "0.6.13",
     1280, "0.6.17"},
    // 0.6.18 to 0.7.2.post1 have this list (flashinfer/artifacts.py, CheckSumHash).
    {{},
     "d79b5c51fc8597fac57dae0da4afa114fb2014575e4ec3df099ad856d97cabc3",
     "flashinfer-cubin 0.7.2",
     "0.7.2",
     1408,
     "0.7.2.post1"},
}};

template <class Matches>
const PublishedHeader* find_header(const Matches& matches) {
  const auto* const found = std::find_if(kHeaders.begin(), kHeaders.end(), matches);
  return found == kHeaders.end() ? nullptr : &*found;
}

}  // namespace

const PublishedHeader* find_published_header(std::string_view pin) {
  if (pin.empty()) return nullptr;
  return find_header([&](const PublishedHeader& header) { return header.sha256 == pin; });
}

const PublishedHeader* find_published_header(const Sha256Digest& digest) {
  return find_published_header(digest.to_hex());
}

const PublishedHeader* find_published_list(const Sha256Digest& digest) {
  const std::string hex = digest.to_hex();
  return find_header([&](const PublishedHeader& header) { return header.list_sha256 == hex; });
}

const PublishedHeader* find_published_header(const KernelRow& row) {
  if (const PublishedHeader* header = find_published_header(row.pin)) return header;
  if (row.layout.empty()) return nullptr;
  return find_header([&](const PublishedHeader& header) { return header.argument_layout == row.layout; });
}

std::string name_with_pin(const KernelSpec& spec, std::string_view function) {
  const auto pin = spec.parameters.find("pin");
  if (pin == spec.parameters.end()) return spec.to_string();
  const std::string_view name = spec.maker == KernelMaker::function ? std::string_view(spec.name) : function;
  return std::string(name) + "@" + to_string(pin->second).substr(0, kPinShown);
}

bool names_pin(std::string_view text, std::string_view pin) {
  if (text.empty()) return false;
  if (pin.starts_with(text)) return true;
  const PublishedHeader* header = find_published_header(pin);
  return header != nullptr &&
         (header->publisher == text || header->publisher.ends_with(" " + std::string(text)));
}

}  // namespace cubinet
