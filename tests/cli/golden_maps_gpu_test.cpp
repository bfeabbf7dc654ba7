// SPDX-License-Identifier: Apache-2.0
#include "golden_launches.hpp"
#include "support/skip.hpp"

#include <cubinet/loader/tensor_map.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

using namespace cubinet;
using namespace cubinet::test;

namespace {

TensorMapDescription description_of(const nlohmann::json& recorded) {
  TensorMapDescription map;
  map.type = static_cast<TensorMapDescription::Type>(recorded["type"].get<int>());
  map.swizzle = static_cast<TensorMapDescription::Swizzle>(recorded["swizzle"].get<int>());
  map.rank = static_cast<std::uint32_t>(recorded["dims"].size());
  map.address = recorded["address"];
  const auto copy = [](const nlohmann::json& values, auto& target) {
    for (std::size_t i = 0; i < values.size(); ++i)
      target[i] = values[i];
  };
  copy(recorded["dims"], map.sizes);
  copy(recorded["strides"], map.strides_bytes);
  copy(recorded["box"], map.box);
  return map;
}

}  // namespace

TEST_CASE("the driver encodes every recorded tensor map that a device of its kind may have") {
  if (!std::filesystem::exists(goldens_folder())) return skip("the recorded launches are not here");
  const auto driver = Driver::open({});
  if (!driver || (*driver)->devices().empty()) return skip("there is no GPU here");
  const auto device = Device::open(*driver, 0);
  REQUIRE(device);
  const ComputeCapability capability = (*device)->properties().capability;
  if (capability.major < 9) return skip("tensor maps begin with devices of 9.0");
  std::size_t encoded = 0;
  std::size_t padded = 0;
  for (const char* name : {"launches-0.6.13-sm_100", "launches-0.6.2-sm_100",
                           "launches-0.6.13-variants-sm_100", "launches-0.6.13-variants-sm_103-132"}) {
    for (const GoldenLaunch& golden : golden_launches(name)) {
      for (const nlohmann::json& recorded : golden.record["tensor_maps"]) {
        CAPTURE(golden.id);
        CAPTURE(recorded.dump());
        const TensorMapDescription map = description_of(recorded);
        const auto checked = check_tensor_map(map);
        CHECK_MESSAGE(checked, (checked ? "" : checked.error().message));
        // Elements of four bits that the copy spreads begin with 10.0.
        const bool exists = map.type != TensorMapDescription::Type::padded_4bit || capability.major >= 10;
        padded += exists ? 0U : 1U;
        if (!exists) continue;
        const auto map_bytes = encode_tensor_map(**device, map);
        CHECK_MESSAGE(map_bytes, (map_bytes ? "" : map_bytes.error().to_line()));
        encoded += map_bytes ? 1U : 0U;
      }
    }
  }
  MESSAGE(encoded << " maps encoded, " << padded << " of four spread bits left out");
  CHECK(encoded > 2000);
}
