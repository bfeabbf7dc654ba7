// SPDX-License-Identifier: Apache-2.0
#include "golden_launches.hpp"

#include <cubinet/kernel_explanation.hpp>
#include <cubinet/kernel_table/metadata_header.hpp>
#include <cubinet/kernel_table/published_header.hpp>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <sstream>

namespace cubinet::test {
namespace {

std::string unpacked(const std::string& name) {
  const std::string command = "gzip -dc '" + goldens_folder() + "/" + name + "'";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  REQUIRE(pipe != nullptr);
  std::string text;
  std::array<char, 1 << 16> part;
  while (const std::size_t count = std::fread(part.data(), 1, part.size(), pipe.get()))
    text.append(part.data(), count);
  REQUIRE_FALSE(text.empty());
  return text;
}

std::map<std::string, std::string> words_of(const std::string& problem) {
  std::map<std::string, std::string> words;
  std::istringstream stream(problem);
  for (std::string word; stream >> word;)
    words[word.substr(0, word.find('='))] = word.substr(word.find('=') + 1);
  return words;
}

cli::AttentionArguments arguments_of(std::map<std::string, std::string> words) {
  const auto number = [&](const char* name) { return static_cast<std::uint32_t>(std::stoul(words[name])); };
  cli::AttentionArguments arguments;
  const std::string& operation = words["op"];
  arguments.operation = operation == "mla" ? "mla-decode" : operation == "decode" ? "decode" : "prefill";
  if (operation == "ragged") arguments.qkv_layout = "separate";
  arguments.batch = number("batch");
  arguments.q_len = number("q");
  arguments.kv_len = number("kv");
  arguments.heads_q = number("hq");
  arguments.heads_kv = number("hkv");
  arguments.head_dim_qk = number("dqk");
  arguments.head_dim_v = number("dv");
  arguments.dtype_q = words["tq"];
  arguments.dtype_kv = words["tkv"];
  arguments.dtype_o = words["to"];
  arguments.page_size = number("page");
  arguments.window = number("window");
  arguments.mask = words["mask"];
  arguments.kv_order = "hnd";
  arguments.sinks = words.contains("sinks");
  arguments.lse = words.contains("lse");
  arguments.ragged_q = words.contains("cumq");
  arguments.scales_on_device = words.contains("dscale");
  if (words.contains("shared")) arguments.page_tables = "separate";
  if (words.contains("bmm1")) arguments.softmax_scale = std::stod(words["bmm1"]);
  if (words.contains("bmm2")) arguments.output_scale = std::stod(words["bmm2"]);
  return arguments;
}

std::string pin_of(const std::string& version) {
  return version == "0.6.2" ? "c9a1572617ab34e9073d9166c5673434651f47fcd9cadf9320a7c99d7c6b9627"
                            : "f6781dfd70669167b7356fa77a805e7306443348a4b5d6a93732a27ebbb3b418";
}

}  // namespace

std::string goldens_folder() {
  const char* const folder = std::getenv("CUBINET_TEST_GOLDENS");
  return folder != nullptr ? folder : CUBINET_GOLDENS;
}

std::vector<GoldenLaunch> golden_launches(const std::string& name) {
  std::vector<GoldenLaunch> launches;
  std::istringstream lines(unpacked(name + ".jsonl.gz"));
  for (std::string line; std::getline(lines, line);) {
    GoldenLaunch launch;
    launch.record = nlohmann::json::parse(line);
    const auto words = words_of(launch.record["problem"]);
    launch.id = words.at("id");
    launch.arguments = arguments_of(words);
    launch.starts_early = !words.contains("pdl");
    launches.push_back(std::move(launch));
  }
  return launches;
}

AvailableKernels golden_kernels(const std::string& version, ComputeCapability device) {
  std::istringstream lines(unpacked("rows-" + version + ".txt.gz"));
  std::string columns;
  std::getline(lines, columns);
  std::string text = "struct TllmGenFmhaKernelMetaInfo\n{\n" + columns +
                     ";\n};\nstatic const TllmGenFmhaKernelMetaInfo sInfos[] = {\n";
  std::size_t number = 0;
  for (std::string line; std::getline(lines, line);)
    text += fmt::format("{{ {}, \"{:064x}\"}},\n", line, ++number);
  auto header = read_metadata_header(text + "};\n");
  REQUIRE_MESSAGE(header, (header ? "" : header.error().to_line()));
  REQUIRE(header->problem_count == 0);
  const PublishedHeader* known = find_published_header(pin_of(version));
  REQUIRE(known != nullptr);
  DeviceRows found;
  for (KernelRow& row : header->rows) {
    row.pin = known->sha256;
    row.layout = known->argument_layout;
    found.rows.push_back({std::make_shared<const KernelRow>(std::move(row)), nullptr});
  }
  return AvailableKernels::create(found, device);
}

}  // namespace cubinet::test
