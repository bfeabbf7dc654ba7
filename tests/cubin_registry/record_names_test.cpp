// SPDX-License-Identifier: Apache-2.0
#include "support/fake_cubin.hpp"
#include "support/text.hpp"

#include <cubinet/cubin_registry/record_names.hpp>

#include <doctest/doctest.h>

#include <algorithm>

using namespace cubinet;
using test::contains;

namespace {

std::shared_ptr<const CubinRecord> record_of(const KernelSpec& spec, const std::string& name,
                                             const std::string& symbol) {
  CubinRecord record = *test::make_cubin(spec).record;
  record.entry_points.front().name = name;
  record.entry_points.front().symbol = symbol;
  return std::make_shared<const CubinRecord>(std::move(record));
}

KernelSpec spec_named(const std::string& name, KernelMaker maker) {
  return {name, {}, maker};
}

}  // namespace

TEST_CASE("a name is a key, else a symbol, else a name in a source, else the name of a specification") {
  const KernelSpec source = spec_named("axpy", KernelMaker::source);
  const CubinRecords records = {
      record_of(source, "_ZN2my5scaleEPf", "_ZN2my5scaleEPf"),
      record_of(KernelSpec(source).set("kernel 0", "axpy<float, 4>"), "axpy<float, 4>", "_Z4axpyIfLi4EEvPT_"),
      record_of(spec_named("scale_add", KernelMaker::kernel_template), "scaled", "scaled"),
      record_of(spec_named("other", KernelMaker::kernel_template), "axpy<float, 4>", "my::scale")};
  const auto found = [&](std::string_view text) {
    std::vector<std::size_t> places;
    for (const auto& record : records_named(records, text))
      places.push_back(
          static_cast<std::size_t>(std::find(records.begin(), records.end(), record) - records.begin()));
    return places;
  };
  using Places = std::vector<std::size_t>;
  CHECK(found(records[2]->identity.key().to_string()) == Places{2});
  CHECK(found("scaled") == Places{2});
  CHECK(found("axpy<float, 4>") == Places{1});  // a C++ name belongs to a source
  CHECK(found("my::scale") == Places{3});       // a symbol precedes it
  CHECK(found("axpy") == Places{0, 1});
  CHECK(found("scale_add") == Places{2});
  CHECK(found("").empty());
  CHECK(found("scale_add@1").empty());
  const CubinRecords without_symbol = {records[0], records[1]};
  CHECK(records_named(without_symbol, "my::scale").size() == 1);
}

TEST_CASE("a pin selects the kernels of a publisher, and a version those of a tool") {
  KernelSpec published = spec_named("fmha", KernelMaker::publisher);
  const CubinRecords records = {
      record_of(KernelSpec(published).set("pin", "0a1b"), "decode", "decode"),
      record_of(KernelSpec(published).set("pin", "0a2c"), "decode", "decode"),
      record_of(spec_named("triton", KernelMaker::tool).set("version", "3.6.0"), "k", "k"),
      record_of(spec_named("image@2", KernelMaker::function), "kernel", "kernel")};
  CHECK(records_named(records, "decode").size() == 2);
  CHECK(records_named(records, "decode@0a1").size() == 1);
  CHECK(records_named(records, "fmha@0a").size() == 2);
  CHECK(records_named(records, "triton@3.6.0").size() == 1);
  CHECK(records_named(records, "triton@3.5").empty());
  CHECK(records_named(records, "image@2").size() == 1);  // a name may contain the sign
}

TEST_CASE("the remedy for a name of several kernels names each of them alone") {
  const KernelSpec source = spec_named("axpy", KernelMaker::source);
  const CubinRecords records = {
      record_of(spec_named("fmha", KernelMaker::publisher).set("pin", "0a1b"), "decode", "decode"),
      record_of(source, "_ZN2my5scaleEPf", "_ZN2my5scaleEPf"),
      record_of(spec_named("scale_add", KernelMaker::kernel_template).set("rows", 3), "scaled", "scaled")};
  for (const auto& record : records) {
    const std::string key = record->identity.key().to_string();
    CHECK(listed_kernel(*record).starts_with(key + " "));
    CHECK(contains(remedy_for_several(*record), key));
  }
  CHECK(remedy_for_several(*records[0]).ends_with("such as decode@0a1b"));
  CHECK(records_named(records, "decode@0a1b").size() == 1);
  CHECK(listed_kernel(*records[1]).ends_with(" my::scale of axpy"));
  CHECK(contains(listed_kernel(*records[2]), "scale_add(rows=3)"));
}
