// SPDX-License-Identifier: Apache-2.0
#include "cubin_attributes.hpp"

#include <cubinet/base/elf.hpp>
#include <cubinet/base/text.hpp>
#include <cubinet/spec/cubin_elf.hpp>
#include <cubinet/spec/fatbin.hpp>
#include <cubinet/spec/image_check.hpp>
#include <cubinet/spec/kernel_resources.hpp>
#include <cubinet/spec/ptx.hpp>
#include <cubinet/spec/user_image.hpp>

#include <algorithm>
#include <elf.h>
#include <optional>

namespace cubinet {
namespace {

constexpr std::size_t kMaximumUserNameBytes = 200;
constexpr std::string_view kElfMagic =
    "\x7f"
    "ELF";

Error unusable(std::string reason, std::string remedy) {
  return Error{ErrorCode::invalid_argument, std::move(reason), std::move(remedy)};
}

Result<void> check_machine(const ElfImage& elf) {
  if (elf.machine() == kCudaMachine) return {};
  const bool holds_device_code =
      elf.find_section(".nv_fatbin") != nullptr || elf.find_section("__nv_relfatbin") != nullptr;
  return unusable(std::string("it is a program or object of the host") +
                      (holds_device_code ? ", with device code in it" : ""),
                  "build a file of device code alone, with `nvcc --cubin` or `nvcc --fatbin`" +
                      std::string(holds_device_code ? ", or take it out: `cuobjdump -xelf all FILE`" : ""));
}

// Returns an error for an ELF that the driver cannot load.
Result<void> check_elf(ByteView image) {
  auto elf = ElfImage::parse(image);
  if (!elf) {
    Error error = std::move(elf).error();
    error.remedy = "build or fetch the file again";
    return error;
  }
  CUBINET_TRY(check_machine(*elf));
  if (elf->type() == ET_REL) {
    return unusable("it is relocatable device code, which is yet to be linked",
                    "link it with `nvlink`, or build it without -dc and -rdc=true");
  }
  return {};
}

void add_entry(CubinRecord& record, const std::string& symbol, std::uint32_t argument_bytes) {
  EntryPoint& entry = record.entry_points.emplace_back();
  entry.name = symbol;
  entry.symbol = symbol;
  entry.parameter_bytes = argument_bytes;
  entry.programmatic_launch = true;
}

// Sets target, kind and entry points from machine code. If the file does not state the target's
// suffix, the target has none, and the driver decides where it runs.
Result<void> describe_cubin(ByteView image, CubinRecord& record) {
  CUBINET_TRY(check_elf(image));
  CUBINET_TRY_ASSIGN(const CubinInspection inspection, inspect_cubin(image));
  CUBINET_TRY_ASSIGN(record.target,
                     SmTarget::parse(SmTarget{inspection.capability.major, inspection.capability.minor,
                                              inspection.kind.value_or(TargetKind::baseline)}
                                         .to_string()));
  for (std::size_t i = 0; i < inspection.kernels.size(); ++i)
    add_entry(record, inspection.kernels[i], inspection.argument_bytes[i]);
  return {};
}

Result<void> describe_ptx(ByteView image, CubinRecord& record) {
  record.kind = ImageKind::ptx;
  CUBINET_TRY_ASSIGN(const PtxInspection inspection, inspect_ptx(image));
  record.target = inspection.target;
  CUBINET_TRY_ASSIGN(const auto kernels, ptx_resources(image));
  for (const KernelResources& kernel : kernels)
    add_entry(record, kernel.name, kernel.arguments.size() == 1 ? kernel.argument_bytes : 0);
  return {};
}

Result<Cubin> build_of(const KernelSpec& spec, ImageKind kind, Bytes image) {
  CubinRecord record;
  if (kind == ImageKind::ptx) {
    while (!image.empty() && image.back() == std::byte{0})
      image.pop_back();
    image.push_back(std::byte{0});  // the driver reads up to the NUL
    CUBINET_TRY(describe_ptx(image, record));
  } else {
    CUBINET_TRY(describe_cubin(image, record));
  }
  if (image.size() > kMaximumImageBytes) return unusable("it has more than 64 MiB", "make a smaller image");
  if (record.entry_points.empty()) {
    return unusable(
        "it holds no kernel",
        "build a source that defines a __global__ function; a template's is there only where it is "
        "instantiated");
  }
  // Entries are sorted by name because the images of a fatbinary have different orders.
  std::sort(record.entry_points.begin(), record.entry_points.end(),
            [](const EntryPoint& a, const EntryPoint& b) { return a.name < b.name; });
  record.identity = identify(spec, record.target);
  record.digest = sha256(image);
  record.size = image.size();
  record.fingerprint.digest = record.digest;  // the bytes alone determine the build
  CUBINET_TRY(check_image(record, image));
  CUBINET_TRY(check_storable(record));
  return Cubin{std::make_shared<const CubinRecord>(std::move(record)),
               std::make_shared<const Bytes>(std::move(image))};
}

Error of_image(const KernelSpec& spec, Error error) {
  error.message = "the image '" + printable(spec.name) + "': " + error.message;
  return error;
}

Result<std::vector<FatbinElement>> images_of(ByteView file) {
  if (is_fatbin(file)) return read_fatbin(file);
  const std::string_view text = as_text(file);
  const bool elf = text.starts_with(kElfMagic);
  if (!elf && text.find(".version") == std::string_view::npos)
    return unusable("it is neither a cubin, nor PTX, nor a fatbinary", "name a file of one of these kinds");
  if (file.size() > kMaximumImageBytes) return unusable("it has more than 64 MiB", "name a smaller image");
  std::vector<FatbinElement> images;
  images.push_back({elf ? ImageKind::cubin : ImageKind::ptx, Bytes(file.begin(), file.end())});
  return images;
}

}  // namespace

Result<KernelSpec> spec_of_user_image(std::string_view name, ByteView file) {
  // "@" separates a name from its pin, a name with "/" denotes a file, and braces follow a name in
  // printed text. The other characters have no use in C++ names and have a meaning in a shell.
  const bool is_bare = name.find_first_of("@/{}!\"#$'`;?\\^|") == std::string_view::npos &&
                       !name.starts_with(' ') && !name.ends_with(' ') &&
                       name.find("  ") == std::string_view::npos;
  if (name.empty() || name.size() > kMaximumUserNameBytes || !is_printable(name) || !is_bare ||
      KernelKey::parse(name)) {
    return unusable("'" + printable(name, kQuotedBytes) + "' cannot be the name of an image",
                    "give it one of at most 200 characters, such as file names and C++ names are made of, "
                    "without '@' and "
                    "'/', that is no key");
  }
  KernelSpec spec{std::string(name), {}, KernelMaker::function};
  spec.set("pin", sha256(file).to_hex());
  return spec;
}

Result<std::vector<Cubin>> builds_of_user_image(const KernelSpec& spec, ByteView file) {
  if (file.size() > kMaximumUserImageBytes)
    return of_image(spec, unusable("it has more than 256 MiB", "name a smaller file"));
  auto images = images_of(file);
  if (!images) return of_image(spec, std::move(images).error());
  std::vector<Cubin> builds;
  for (FatbinElement& element : *images) {
    auto build = build_of(spec, element.kind, std::move(element.image));
    if (!build) return of_image(spec, std::move(build).error());
    builds.push_back(*std::move(build));
  }
  return builds;
}

Result<void> refuse_host_file(ByteView elf) {
  const auto image = ElfImage::parse(elf);
  if (!image) return {};  // a damaged file, of whatever machine
  return check_machine(*image);
}

}  // namespace cubinet
