// SPDX-License-Identifier: Apache-2.0
#include <cubinet/spec/image_check.hpp>
#include <cubinet/spec/ptx.hpp>

#include <algorithm>
#include <optional>

namespace cubinet {
namespace {

Error not_ptx(std::string reason) {
  return Error{ErrorCode::corruption, "not usable PTX: " + std::move(reason), "build or fetch it again"};
}

constexpr std::string_view kSpace = " \t\r\n\f\v";
constexpr std::string_view kNotInWords = " \t\r\n\f\v,;(){}[]\"";

// Words of PTX text, without comments: the directives that are looked for stand as words of their own.
class PtxWords {
 public:
  explicit PtxWords(std::string_view text) : text_(text) {}

  std::optional<std::string_view> next() {
    while (skip_one()) {
    }
    if (text_.empty()) return std::nullopt;
    const std::size_t end = text_.find_first_of(kNotInWords);
    const std::size_t length = end == std::string_view::npos ? text_.size() : end == 0 ? 1 : end;
    const std::string_view word = text_.substr(0, length);
    text_.remove_prefix(length);
    return word;
  }

 private:
  // One run of space or one comment.
  bool skip_one() {
    if (text_.empty()) return false;
    if (kSpace.find(text_.front()) != std::string_view::npos) {
      text_.remove_prefix(std::min(text_.find_first_not_of(kSpace), text_.size()));
      return true;
    }
    if (text_.starts_with("//")) {
      text_.remove_prefix(std::min(text_.find('\n'), text_.size()));
      return true;
    }
    if (text_.starts_with("/*")) {
      const std::size_t end = text_.find("*/", 2);
      text_.remove_prefix(end == std::string_view::npos ? text_.size() : end + 2);
      return true;
    }
    return false;
  }

  std::string_view text_;
};

}  // namespace

Result<PtxInspection> inspect_ptx(ByteView image) {
  std::string_view text = as_text(image);
  if (text.empty() || text.back() != '\0') return not_ptx("the text does not end with a NUL");
  text.remove_suffix(1);
  if (text.find('\0') != std::string_view::npos) return not_ptx("there is a NUL within the text");
  PtxInspection inspection;
  bool has_target = false;
  PtxWords words(text);
  while (const auto word = words.next()) {
    if (*word != ".version" && *word != ".target" && *word != ".entry") continue;
    const auto argument = words.next();
    if (!argument) return not_ptx("it ends after " + std::string(*word));
    if (*word == ".version") {
      inspection.version = *argument;
    } else if (*word == ".entry") {
      if (inspection.kernels.size() == kMaximumImageKernels) return not_ptx("it has more than 4096 kernels");
      inspection.kernels.emplace_back(*argument);
    } else if (!has_target) {
      auto target = SmTarget::parse(*argument);
      if (!target) return not_ptx(target.error().message);
      inspection.target = *target;
      has_target = true;
    }
  }
  if (inspection.version.empty() || !has_target) return not_ptx("it names no version or no target");
  return inspection;
}

}  // namespace cubinet
