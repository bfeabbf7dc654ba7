// SPDX-License-Identifier: Apache-2.0
#include <cubinet/caller_label.hpp>

#include <algorithm>

namespace cubinet {
namespace {

thread_local std::array<char, kMaximumCallerLabel> label_bytes;
thread_local std::size_t label_size = 0;

// Returns the size of the longest prefix that fits and ends with a whole UTF-8 character.
std::size_t fitting_size(std::string_view label) {
  if (label.size() <= kMaximumCallerLabel) return label.size();
  std::size_t size = kMaximumCallerLabel;
  while (size > 0 && (static_cast<unsigned char>(label[size]) & 0xC0U) == 0x80U)
    --size;
  return size;
}

}  // namespace

CallerLabel::CallerLabel(std::string_view label) : outer_(label_bytes), outer_size_(label_size) {
  set(label);
}

CallerLabel::~CallerLabel() {
  label_bytes = outer_;
  label_size = outer_size_;
}

std::string_view CallerLabel::current() {
  return {label_bytes.data(), label_size};
}

void CallerLabel::set(std::string_view label) {
  label_size = fitting_size(label);
  std::copy_n(label.begin(), label_size, label_bytes.begin());
}

}  // namespace cubinet
