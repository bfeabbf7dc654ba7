// SPDX-License-Identifier: Apache-2.0
#include "home_fixture.hpp"

#include <algorithm>
#include <iterator>
#include <sstream>

using namespace cubinet;
using namespace cubinet::test;

namespace {

struct Row {
  int status;
  std::string line;  // words, separated by blanks
};

// Kernels and imports that no store has, and problems that no kernel serves.
const Row kNoAnswer[] = {
    {1, "registry show none"},
    {1, "registry show 0123456789abcdef"},
    {1, "registry show --import 9"},
    {1, "registry list --imports 9"},
    {1, "registry remove none"},
    {1, "registry remove --import 9"},
    {1, "registry refresh 9"},
    {1, "registry pin none"},
    {1, "registry unpin none"},
    {1, "inspect none"},
    {1, "explain none --device 9.0"},
    {1, "bundle extract home.bundle none"},
    {2, "key none"},
    {1, "select attention --batch 1 --kv-len 64 --heads-q 8 --device 9.0 --page-size 0 --mask custom"},
};

// Names of templates, tools, verbs and files that do not exist.
const Row kMissing[] = {
    {2, "nonsense"},
    {2, "help nonsense"},
    {2, "completion csh"},
    {2, "templates none"},
    {2, "compile none --target sm_90"},
    {2, "compile --source none.cu --target sm_90"},
    {2, "compile rms_norm -p hidden_size=64 --target sm_90 --template-file none.cu"},
    {2, "prebuild none.json -o out.bundle"},
    {2, "prebuild --device 9.0 --problems none -o out.bundle"},
    {2, "explain rms_norm -p hidden_size=64 --device 9.0 --bundle none"},
    {2, "select attention --kv-len 64 --heads-q 8 --device 9.0 --table none"},
    {2, "bundle create none.cubin -o out.bundle"},
    {2, "bundle create --device 9.0 --problems none -o out.bundle"},
    {2, "bundle list none"},
    {2, "bundle verify none"},
    {2, "bundle import none"},
    {2, "bundle extract none kernel"},
    {2, "bundle root none -o out"},
    {2, "bundle sign none --key none"},
    {2, "bundle subset none -o out.bundle"},
    {2, "bundle merge none -o out.bundle"},
    {2, "bundle diff none none"},
    {2, "inspect ./none"},
    {2, "registry add none"},
    {2, "import-artifacts none"},
    {2, "adopt none"},
    {2, "materialize tritn folder --tool-version 3"},
    {2, "trust update none"},
    {2, "tune --sweep none"},
    {2, "tune --merge none"},
    {2, "tune --show --output none"},
    {2, "bench attention --sweep none"},
    {2, "bundle list home.bundle --policy none"},
    {2, "registry list --nvrtc none"},
};

// Values that an option does not take, and files that contain something else.
const Row kWrong[] = {
    {2, "registry list --key nonsense"},
    {2, "registry list --target sm_99"},
    {2, "registry stats --device 9.9"},
    {2, "registry gc --max-bytes much"},
    {2, "registry limit much"},
    {2, "registry add plain.txt"},
    {2, "registry verify --jobs 0"},
    {2, "doctor --require luck"},
    {2, "explain rms_norm -p hidden_size=64 --device sm_99"},
    {2, "explain rms_norm -p hidden=64 --device 9.0"},
    {2, "key rms_norm -p hidden_size=64 --target sm_99"},
    {2, "compile rms_norm -p hidden_size=0 --target sm_90"},
    {2, "compile rms_norm -p hidden_size=64 --target sm_99"},
    {2, "compile rms_norm -p hidden_size=64 --target sm_90 --emit fatbin"},
    {2, "compile attention_decode_wgmma -p head_dim_qk=128 -p head_dim_v=128 --target compute_80"},
    {2, "bundle create -o out.bundle --profile small"},
    {2, "bundle create -o out.bundle --device sm_99"},
    {2, "bundle subset home.bundle -o out.bundle --device sm_99"},
    {2, "prebuild plain.txt -o out.bundle"},
    {2, "prebuild --device sm_99 --problems plain.txt -o out.bundle"},
    {2, "select attention --kv-len 64 --heads-q 8 --device 9.9 --sm-count 132"},
    {2, "select attention --kv-len 64 --heads-q 8 --device 9.0 --backend none"},
    {2, "select attention --kv-len 64 --heads-q 8 --device 9.0 --table plain.txt"},
    {2, "materialize triton folder --tool-version 3 --device sm_99"},
    {2, "pull ./server#stable --device sm_99"},
    {2, "mirror ./server folder --device sm_99"},
    {2, "inspect plain.txt"},
    {3, "registry list --nvrtc plain.txt"},
    {2, "bundle verify plain.txt"},
    {2, "bundle list plain.txt"},
    {2, "bundle import plain.txt"},
    {1, "bundle verify damaged.bundle"},
    {1, "bundle list damaged.bundle"},
    {1, "bundle import damaged.bundle"},
    {1, "tune --merge plain.txt"},
};

// Checks each line as text and as JSON, in the sandbox's folder.
template <std::size_t count>
void check_rows(const Row (&rows)[count]) {
  const Sandbox sandbox;
  publish(sandbox, three_cubins());
  sandbox.write("plain.txt", "text");
  REQUIRE(sandbox.run({"bundle", "create", "-o", sandbox.path("home.bundle")}).status == 0);
  std::string damaged = sandbox.read("home.bundle");
  damaged[40] = static_cast<char>(damaged[40] ^ 1);  // in the root
  sandbox.write("damaged.bundle", damaged);
  ToolSetting setting;
  setting.folder = sandbox / ".";
  for (const Row& row : rows) {
    CAPTURE(row.line);
    std::istringstream split(row.line);
    std::vector<std::string> words{std::istream_iterator<std::string>(split), {}};
    const ToolResult text = sandbox.run(words, setting);
    CHECK(text.status == row.status);
    CHECK(contains(text.err, "error: "));
    words.emplace_back("--json");
    const ToolResult json = sandbox.run(words, setting);
    CHECK(json.status == row.status);
    const auto document = nlohmann::json::parse(json.out, nullptr, false);  // fails for a second document
    CHECK_FALSE(document.is_discarded());
    CHECK(document.contains("error"));
    CHECK_FALSE(std::filesystem::exists(sandbox / "out.bundle"));
  }
}

}  // namespace

TEST_CASE("a kernel that no store has ends every verb but key with 1, and prints one document") {
  check_rows(kNoAnswer);
}

TEST_CASE(
    "a template, tool, verb or file that does not exist ends every verb with 2, and prints one document") {
  check_rows(kMissing);
}

TEST_CASE("a wrong value ends every verb with 2, and damage with 1, and each prints one document") {
  check_rows(kWrong);
}
