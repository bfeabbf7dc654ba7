// SPDX-License-Identifier: Apache-2.0
#include "api/runtime_fixture.hpp"
#include "c_fixture.hpp"
#include "sources/catalog_folder.hpp"

#include <cubinet/sources/source_import.hpp>

using namespace cubinet::test;

namespace {

constexpr const char* kSource = R"(
template <class T, int N> __global__ void fill(T* data) { data[threadIdx.x] = N + offset; }
__global__ void clear(int* data) { data[threadIdx.x] = 0; }
)";

std::string image_of(const CKernel& kernel, const char* target, std::int32_t kind = CUBINET_IMAGE_CUBIN) {
  cubinet_text* image = nullptr;
  Failure failure;
  const auto status = cubinet_kernel_image(kernel.get(), cubinet_str(target), kind, &image, failure.out());
  REQUIRE_MESSAGE(status == CUBINET_OK, failure.message());
  const CText kept(image);
  return text(cubinet_text_get(kept.get()));
}

}  // namespace

TEST_CASE("a kernel of a template is compiled for a target and found again") {
  const TempDir folder;
  const CConfig config = test_config(folder, kScaleTemplate);
  const CRuntime runtime = make_runtime(config);
  const CSpec spec = make_spec("scale");
  set_integer(spec, "factor", 3);
  const CKernel kernel = make_kernel(runtime, spec);
  cubinet_text* json = nullptr;
  REQUIRE(cubinet_kernel_describe(kernel.get(), &json, nullptr) == CUBINET_OK);
  const CText described(json);
  CHECK(text(cubinet_text_get(described.get())).find("\"factor\": 3") != std::string::npos);
  const std::string image = image_of(kernel, "sm_90a");
  CHECK(image.substr(0, 4) ==
        "\x7f"
        "ELF");
  CHECK(image_of(kernel, "sm_90a") == image);
  cubinet_counters counters = CUBINET_COUNTERS_INIT;
  REQUIRE(cubinet_runtime_counters(runtime.get(), &counters, nullptr) == CUBINET_OK);
  CHECK(counters.compiled == 1);
  CHECK(image_of(kernel, "sm_90", CUBINET_IMAGE_PTX).find(".version") != std::string::npos);
}

TEST_CASE("a kernel is explained for a device before and after it is built") {
  const TempDir folder;
  const CConfig config = test_config(folder, kScaleTemplate);
  const CRuntime runtime = make_runtime(config);
  const CSpec spec = make_spec("scale");
  set_integer(spec, "factor", 3);
  const CKernel kernel = make_kernel(runtime, spec);
  const auto explained = [&](const char* device) {
    cubinet_text* json = nullptr;
    REQUIRE(cubinet_kernel_explain(kernel.get(), cubinet_str(device), &json, nullptr) == CUBINET_OK);
    const CText kept(json);
    return text(cubinet_text_get(kept.get()));
  };
  CHECK(explained("9.0").find("would be compiled for sm_90a") != std::string::npos);
  image_of(kernel, "sm_90a");
  CHECK(explained("sm_90").find("sm_90a is used") != std::string::npos);
  cubinet_text* json = nullptr;
  Failure failure;
  CHECK(cubinet_kernel_explain(kernel.get(), cubinet_str("9"), &json, failure.out()) ==
        CUBINET_INVALID_ARGUMENT);
  CHECK(cubinet_kernel_explain(nullptr, cubinet_str("9.0"), &json, failure.out()) ==
        CUBINET_INVALID_ARGUMENT);
  CHECK(json == nullptr);
}

TEST_CASE("a wrong parameter, an unknown template and a wrong target are errors with their names") {
  const TempDir folder;
  const CConfig config = test_config(folder, kScaleTemplate);
  const CRuntime runtime = make_runtime(config);
  const CSpec spec = make_spec("scale");
  set_integer(spec, "factor", 100000);
  cubinet_kernel* kernel = nullptr;
  Failure failure;
  CHECK(cubinet_kernel_from_spec(runtime.get(), spec.get(), &kernel, failure.out()) ==
        CUBINET_INVALID_ARGUMENT);
  CHECK(failure.message().find("factor") != std::string::npos);
  const CSpec unknown = make_spec("absent");
  CHECK(cubinet_kernel_from_spec(runtime.get(), unknown.get(), &kernel, failure.out()) == CUBINET_NOT_FOUND);
  CHECK(cubinet_kernel_from_name(runtime.get(), cubinet_str("absent"), &kernel, failure.out()) != CUBINET_OK);
  CHECK(kernel == nullptr);
  set_integer(spec, "factor", 3);
  const CKernel made = make_kernel(runtime, spec);
  cubinet_text* image = nullptr;
  CHECK(cubinet_kernel_image(made.get(), cubinet_str("sm_1"), CUBINET_IMAGE_CUBIN, &image, failure.out()) ==
        CUBINET_INVALID_ARGUMENT);
  CHECK(cubinet_kernel_image(made.get(), cubinet_str("sm_90"), 7, &image, failure.out()) ==
        CUBINET_INVALID_ARGUMENT);
  CHECK(failure.message() == "`kind` is 7");
}

TEST_CASE("a source is compiled with its headers, its flags and the kernels that it names") {
  const TempDir folder;
  const CConfig config = test_config(folder, kScaleTemplate);
  const CRuntime runtime = make_runtime(config);
  const std::string source_text = std::string("#include \"offset.h\"\n") + kSource;
  const cubinet_string kernels[] = {cubinet_str("fill<float, 4>"), cubinet_str("clear")};
  const cubinet_header headers[] = {{cubinet_str("offset.h"), cubinet_str("constexpr int offset = OFFSET;")}};
  const cubinet_string flags[] = {cubinet_str("-DOFFSET=2")};
  cubinet_source source = CUBINET_SOURCE_INIT;
  source.name = cubinet_str("fills");
  source.text = c_string(source_text);
  source.kernels = kernels;
  source.kernel_count = 2;
  source.headers = headers;
  source.header_count = 1;
  source.flags = flags;
  source.flag_count = 1;
  cubinet_kernel* made = nullptr;
  Failure failure;
  const auto status = cubinet_kernel_from_source(runtime.get(), &source, &made, failure.out());
  REQUIRE_MESSAGE(status == CUBINET_OK, failure.message());
  const CKernel kernel(made);
  CHECK(image_of(kernel, "sm_80").size() > 500);

  source.flag_count = 0;
  REQUIRE(cubinet_kernel_from_source(runtime.get(), &source, &made, failure.out()) == CUBINET_OK);
  const CKernel wrong(made);
  cubinet_text* image = nullptr;
  CHECK(cubinet_kernel_image(wrong.get(), cubinet_str("sm_80"), CUBINET_IMAGE_CUBIN, &image, failure.out()) ==
        CUBINET_COMPILE_FAILED);
  CHECK(text(failure.info().detail).find("OFFSET") != std::string::npos);
  source.kernels = nullptr;
  CHECK(cubinet_kernel_from_source(runtime.get(), &source, &made, failure.out()) == CUBINET_INVALID_ARGUMENT);
}

TEST_CASE("an image of the caller is kept under a name and found by it") {
  const TempDir folder;
  const CConfig config = test_config(folder, kScaleTemplate);
  const CRuntime runtime = make_runtime(config);
  const CSpec spec = make_spec("scale");
  set_integer(spec, "factor", 5);
  const std::string image = image_of(make_kernel(runtime, spec), "sm_90");
  cubinet_kernel* made = nullptr;
  Failure failure;
  REQUIRE(cubinet_kernel_from_image(runtime.get(), cubinet_str("mine"), image.data(), image.size(), &made,
                                    failure.out()) == CUBINET_OK);
  const CKernel kernel(made);
  CHECK(image_of(kernel, "sm_90") == image);
  REQUIRE(cubinet_kernel_from_name(runtime.get(), cubinet_str("mine"), &made, failure.out()) == CUBINET_OK);
  const CKernel again(made);
  CHECK(image_of(again, "sm_90") == image);
  CHECK(cubinet_kernel_from_image(runtime.get(), cubinet_str("bad"), "text", 4, &made, failure.out()) !=
        CUBINET_OK);
  CHECK(cubinet_kernel_from_image(runtime.get(), cubinet_str("bad"), nullptr, 4, &made, failure.out()) ==
        CUBINET_INVALID_ARGUMENT);
  // The size that a failed ftell() gives is refused before a byte is read.
  CHECK(cubinet_kernel_from_image(runtime.get(), cubinet_str("bad"), "text", SIZE_MAX, &made,
                                  failure.out()) == CUBINET_INVALID_ARGUMENT);
  CHECK(failure.message().find("`size`") != std::string::npos);
}

TEST_CASE("a kernel outlives the handle of its runtime and counts its references") {
  const TempDir folder;
  const CConfig config = test_config(folder, kScaleTemplate);
  CRuntime runtime = make_runtime(config);
  const CSpec spec = make_spec("scale");
  set_integer(spec, "factor", 3);
  CKernel kernel = make_kernel(runtime, spec);
  runtime.reset();
  const CKernel second(cubinet_kernel_retain(kernel.get()));
  kernel.reset();
  CHECK(image_of(second, "sm_90").size() > 500);
  CHECK(cubinet_kernel_retain(nullptr) == nullptr);
  std::int32_t released = 7;
  CHECK(cubinet_kernel_forget(second.get(), 0, &released, nullptr) == CUBINET_OK);
  CHECK(released == 0);
}

TEST_CASE("a kernel of an imported catalog is resolved by its name or by a specification") {
  const CatalogFolder folder;
  folder.write();
  const TempDir home;
  const auto imported = cubinet::import_sources(*cubinet::posix_file_system(), {folder.path(), {}, {}},
                                                cubinet::SourceCatalogs(home / "home"));
  REQUIRE(imported.has_value());
  const CConfig config = test_config(home, kScaleTemplate);
  const CRuntime runtime = make_runtime(config);
  cubinet_kernel* kernel = nullptr;
  Failure failure;
  const auto status =
      cubinet_kernel_from_name(runtime.get(), cubinet_str("doubles_one"), &kernel, failure.out());
  REQUIRE_MESSAGE(status == CUBINET_OK, failure.message());
  const CKernel by_name(kernel);
  CHECK(image_of(by_name, "sm_90a") == image_of(make_kernel(runtime, make_spec("doubles_one")), "sm_90a"));
  cubinet_counters counters = CUBINET_COUNTERS_INIT;
  REQUIRE(cubinet_runtime_counters(runtime.get(), &counters, nullptr) == CUBINET_OK);
  CHECK(counters.compiled == 1);
}
