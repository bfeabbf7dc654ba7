// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"
#include "describe.hpp"
#include "describe_image.hpp"
#include "record_arguments.hpp"
#include "server_arguments.hpp"
#include "verbs.hpp"

#include <cubinet/base/text.hpp>
#include <cubinet/spec/cache_entry.hpp>
#include <cubinet/spec/fatbin.hpp>
#include <cubinet/spec/user_image.hpp>

#include <fmt/format.h>

namespace cubinet::cli {
namespace {

struct InspectOptions {
  std::string subject;
  Places places;
};

// An image, its record and its location.
struct Subject {
  std::string place;
  std::shared_ptr<const Bytes> image;
  std::shared_ptr<const CubinRecord> record;  // nullptr for a file without one
};

Error at_file(Error error, const std::string& file) {
  error.message = "'" + file + "': " + error.message;
  return error;
}

// Reads an image and, if `compile --record` wrote it, its record. Returns corruption if the record
// belongs to another image.
Result<std::vector<Subject>> read_file(const Context& context, const std::string& file) {
  CUBINET_TRY_ASSIGN(Bytes image, context.files()->read(file, kMaximumUserImageBytes));
  Subject subject;
  std::error_code unknown;
  const auto path = std::filesystem::canonical(file, unknown);
  subject.place = unknown ? file : path.string();
  if (is_fatbin(image)) {  // inspects each of its images, unpacked
    auto elements = read_fatbin(image);
    if (!elements) return at_file(elements.error(), file);
    std::vector<Subject> subjects;
    for (FatbinElement& element : *elements)
      subjects.push_back({subject.place, std::make_shared<const Bytes>(std::move(element.image)), nullptr});
    return subjects;
  }
  subject.image = std::make_shared<const Bytes>(std::move(image));
  const auto bytes = context.files()->read(file + ".record", kMaximumRecordBytes);
  if (!bytes) return std::vector<Subject>{std::move(subject)};
  auto record = decode_record(*bytes);
  if (!record) return at_file(record.error(), file + ".record");
  if (record->digest != sha256(*subject.image)) {
    return Error{ErrorCode::corruption,
                 "'" + file + "' is not the image that '" + file + ".record' describes",
                 "compile it again, or remove the record"};
  }
  subject.record = std::make_shared<const CubinRecord>(*std::move(record));
  return std::vector<Subject>{std::move(subject)};
}

// Returns the image to inspect. For an entry of another compiler's cache this is the machine code
// in the entry, or nullptr if there is none.
Result<std::shared_ptr<const Bytes>> machine_code(const Cubin& cubin) {
  if (cubin.record->kind != ImageKind::cache_entry) return cubin.image;
  if (spec_of(*cubin.record).parameters.contains("host")) return std::shared_ptr<const Bytes>();
  CUBINET_TRY_ASSIGN(std::vector<CacheFile> files, decode_cache_entry(*cubin.image));
  for (CacheFile& file : files) {
    if (files.size() == 1 || file.name.ends_with(".cubin"))
      return std::make_shared<const Bytes>(std::move(file.content));
  }
  return std::shared_ptr<const Bytes>();
}

Result<std::vector<Subject>> find_kernel(const Context& context, const InspectOptions& options) {
  CUBINET_TRY_ASSIGN(const OpenedStores opened,
                     context.stores(options.places, HomeOptions::Access::read_only));
  RecordArguments filter;
  filter.kernels = {options.subject};
  std::vector<Subject> subjects;
  CubinRecords all;
  for (const auto& store : opened.stores) {
    CUBINET_TRY_ASSIGN(auto listed, store->list());
    CUBINET_TRY_ASSIGN(const auto records, select_records(filter, std::move(listed)));
    all.insert(all.end(), records.begin(), records.end());
    CUBINET_TRY(check_one_kernel(options.subject, all));
    for (const auto& record : records) {
      CUBINET_TRY_ASSIGN(const auto cubin, store->load(record));
      if (!cubin) {
        return Error{ErrorCode::corruption,
                     fmt::format("the image of {} for {} in '{}' is gone or damaged", kernel_title(*record),
                                 record->target_name(), store->place_of(*record)),
                     "compile or import it again"};
      }
      CUBINET_TRY_ASSIGN(auto image, machine_code(*cubin));
      if (image) subjects.push_back({store->place_of(*record), std::move(image), record});
    }
  }
  return subjects;
}

Result<ExitStatus> inspect(const Context& context, const InspectOptions& options) {
  std::error_code unknown;
  const bool file = std::filesystem::exists(options.subject, unknown) ||
                    options.subject.find('/') != std::string::npos;  // no key or name contains a slash
  std::vector<Subject> subjects;
  if (file) {
    CUBINET_TRY_ASSIGN(subjects, read_file(context, options.subject));
  } else {
    CUBINET_TRY_ASSIGN(subjects, find_kernel(context, options));
  }
  if (subjects.empty()) {
    return context.fail(
        Error{
            ErrorCode::not_found,
            fmt::format("'{}' is no file here, and no kernel of the home or of a bundle given with --bundle",
                        options.subject),
            "`cubinet registry list` prints the keys that the home holds"},
        ExitStatus::negative);
  }
  nlohmann::json results = nlohmann::json::array();
  for (const Subject& subject : subjects) {
    const auto report = inspect_image(*subject.image);
    if (!report) return at_file(report.error(), subject.place);
    nlohmann::json described = describe(*report, subject.record.get());
    described["file"] = subject.place;
    described["bytes"] = subject.image->size();
    described["sha256"] = sha256(*subject.image).to_hex();
    results.push_back(std::move(described));
    context.console().text(fmt::format(
        "{}\n  size         {} bytes\n  sha256       {}\n{}", printable(subject.place), subject.image->size(),
        sha256(*subject.image).to_hex(), to_text(*report, subject.record.get())));
  }
  context.console().document({{"results", std::move(results)}});
  return ExitStatus::done;
}

}  // namespace

void add_inspect(CLI::App& root, Action& chosen) {
  CLI::App* verb = root.add_subcommand("inspect", "Print what a cubin or PTX says of its kernels");
  auto options = std::make_shared<InspectOptions>();
  verb->add_option("FILE|KEY", options->subject,
                   "A cubin, PTX or fatbinary file, or the key or name of a kernel of the home or a bundle; "
                   "NAME@PIN for one pin")
      ->required()
      ->type_name("");
  add_places(*verb, options->places);
  verb->footer(
      R"(Registers, stack and shared memory are those of the machine code; PTX states arguments and launch bounds alone.
Spilled registers are in the stack: with 0 bytes of stack, none are spilled.

Examples:
  cubinet inspect rms_norm.cubin
  cubinet inspect 0123456789abcdef --bundle kernels.bundle --json)");
  choose<InspectOptions>(*verb, chosen, options, inspect);
}

}  // namespace cubinet::cli
