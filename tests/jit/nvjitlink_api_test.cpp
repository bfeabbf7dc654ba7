// SPDX-License-Identifier: Apache-2.0
#include "nvjitlink_api.hpp"

#include "device_library.hpp"

#include <doctest/doctest.h>

#if __has_include(<nvJitLink.h>)
#include <nvJitLink.h>
#include <type_traits>

using cubinet::LinkInputKind;
static_assert(static_cast<int>(NVJITLINK_SUCCESS) == cubinet::kNvJitLinkSuccess);
static_assert(std::is_pointer_v<nvJitLinkHandle> && sizeof(nvJitLinkResult) == sizeof(int));
static_assert(static_cast<int>(LinkInputKind::cubin) == NVJITLINK_INPUT_CUBIN);
static_assert(static_cast<int>(LinkInputKind::ptx) == NVJITLINK_INPUT_PTX);
static_assert(static_cast<int>(LinkInputKind::lto_ir) == NVJITLINK_INPUT_LTOIR);
static_assert(static_cast<int>(LinkInputKind::fatbin) == NVJITLINK_INPUT_FATBIN);
static_assert(static_cast<int>(LinkInputKind::object) == NVJITLINK_INPUT_OBJECT);
static_assert(static_cast<int>(LinkInputKind::archive) == NVJITLINK_INPUT_LIBRARY);
#endif

using namespace cubinet;

TEST_CASE("an nvJitLink is opened by the functions of its own release") {
  const auto api = NvJitLinkApi::open(CUBINET_TEST_NVJITLINK, {12, 10});
  REQUIRE_MESSAGE(api.has_value(), api.error().to_line());
  CHECK((*api)->version() == NvrtcVersion{12, 10});
  CHECK(((*api)->Complete != nullptr));
}

TEST_CASE("a linker that is not there, or lacks a function, is unavailable and says which") {
  const auto absent = NvJitLinkApi::open("/nowhere/libnvJitLink.so.13", {13, 0});
  REQUIRE_FALSE(absent);
  CHECK(absent.error().code == ErrorCode::unavailable);
  CHECK_FALSE(absent.error().remedy.empty());
  const auto broken = NvJitLinkApi::open(CUBINET_TEST_BROKEN_NVJITLINK, {13, 7});
  REQUIRE_FALSE(broken);
  CHECK(broken.error().code == ErrorCode::unavailable);
  CHECK_MESSAGE(broken.error().message.find("__nvJitLinkDestroy_13_7") != std::string::npos,
                broken.error().message);
}
