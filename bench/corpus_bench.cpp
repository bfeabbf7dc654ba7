// SPDX-License-Identifier: Apache-2.0
#include "benchmarks.hpp"

#include <cubinet/loader/memory.hpp>
#include <cubinet/loader/stream.hpp>

#include <cmath>
#include <cstring>
#include <fstream>
#include <iostream>

namespace cubinet::bench {
namespace {

template <class T>
void put(Bytes& bytes, T value) {
  const std::size_t at = bytes.size();
  bytes.resize(at + sizeof value);
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

template <class T>
double get(const Bytes& bytes, std::size_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof value, sizeof value);
  return static_cast<double>(value);
}

struct ElementType {
  const char* name;
  std::size_t size;
  void (*put)(Bytes&, const nlohmann::json&);
  double (*get)(const Bytes&, std::size_t);
};

template <class T>
constexpr ElementType element_type(const char* name) {
  return {name, sizeof(T), [](Bytes& bytes, const nlohmann::json& value) { put<T>(bytes, value.get<T>()); },
          get<T>};
}

// Finds a type by numpy's name.
const ElementType* find_type(const std::string& name) {
  static constexpr ElementType kTypes[] = {
      element_type<float>("float32"),      element_type<double>("float64"),
      element_type<std::int32_t>("int32"), element_type<std::uint32_t>("uint32"),
      element_type<std::int64_t>("int64"), element_type<std::uint64_t>("uint64"),
      element_type<std::uint8_t>("uint8"), element_type<std::int8_t>("int8"),
      element_type<std::int16_t>("int16"), element_type<std::uint16_t>("uint16"),
  };
  for (const ElementType& type : kTypes) {
    if (name == type.name) return &type;
  }
  return nullptr;
}

// One argument of a kernel: an array on the device, or a value.
struct Argument {
  const ElementType* type = nullptr;
  Bytes bytes;
  std::vector<DeviceBuffer> buffer;  // one buffer for an array
  std::vector<double> expected;      // Expected content afterwards. Empty: it is not compared.
  double tolerance = 0;
  std::uint64_t address = 0;
};

Result<Argument> make_argument(const std::shared_ptr<const Device>& device, const nlohmann::json& given) {
  Argument argument;
  argument.type = find_type(given.at("type"));
  if (argument.type == nullptr)
    return Error{ErrorCode::invalid_argument, "there is no type " + given.at("type").dump()};
  if (given.contains("value")) {
    argument.type->put(argument.bytes, given["value"]);
    return argument;
  }
  for (const nlohmann::json& value : given.at("array"))
    argument.type->put(argument.bytes, value);
  CUBINET_TRY_ASSIGN(DeviceBuffer buffer, DeviceBuffer::copy_of(device, argument.bytes));
  argument.address = buffer.address();
  argument.buffer.push_back(std::move(buffer));
  argument.expected = given.value("expected", std::vector<double>());
  argument.tolerance = given.value("tolerance", 0.0);
  return argument;
}

Result<void> compare(Argument& argument, std::size_t position) {
  if (argument.expected.empty()) return {};
  CUBINET_TRY(argument.buffer.front().copy_to(argument.bytes));
  for (std::size_t i = 0; i < argument.expected.size(); ++i) {
    const double found = argument.type->get(argument.bytes, i);
    const double expected = argument.expected[i];
    if (std::abs(found - expected) <= argument.tolerance * std::max(1.0, std::abs(expected))) continue;
    return Error{ErrorCode::internal, "argument " + std::to_string(position) + "[" + std::to_string(i) +
                                          "] is " + std::to_string(found) + ", not " +
                                          std::to_string(expected)};
  }
  return {};
}

std::array<std::uint32_t, 3> dimensions(const nlohmann::json& given) {
  std::array<std::uint32_t, 3> result = {1, 1, 1};
  for (std::size_t i = 0; i < given.size() && i < 3; ++i)
    result[i] = given[i];
  return result;
}

Result<void> run_case(Runtime& runtime, const std::shared_ptr<const Device>& device, int ordinal,
                      const nlohmann::json& given) {
  SourceProgram program;
  program.name = given.at("name");
  program.text = given.at("source");
  program.kernels = given.at("names").get<std::vector<std::string>>();
  program.flags = given.at("flags").get<std::vector<std::string>>();
  CUBINET_TRY_ASSIGN(const auto kernel, runtime.resolve(program));
  CUBINET_TRY_ASSIGN(const Function function,
                     runtime.function(*kernel, ordinal, given.at("kernel").get<std::string>()));

  std::vector<Argument> arguments;
  for (const nlohmann::json& argument : given.at("arguments")) {
    CUBINET_TRY_ASSIGN(Argument made, make_argument(device, argument));
    arguments.push_back(std::move(made));
  }
  std::vector<const void*> pointers;
  std::vector<std::uint32_t> sizes;
  for (const Argument& argument : arguments) {
    const bool array = !argument.buffer.empty();
    pointers.push_back(array ? static_cast<const void*>(&argument.address) : argument.bytes.data());
    sizes.push_back(static_cast<std::uint32_t>(array ? sizeof argument.address : argument.bytes.size()));
  }
  CUBINET_TRY_ASSIGN(const Stream stream, Stream::create(device));
  LaunchConfig config;
  config.grid = dimensions(given.at("grid"));
  config.block = dimensions(given.at("block"));
  config.dynamic_shared_bytes = given.value("shared", 0U);
  config.cooperative = given.value("cooperative", false);
  config.stream = stream.handle();
  CUBINET_TRY(function.launch_raw(config, pointers.data(), sizes.data(), pointers.size()));
  CUBINET_TRY(stream.synchronize());
  for (std::size_t i = 0; i < arguments.size(); ++i)
    CUBINET_TRY(compare(arguments[i], i));
  return {};
}

}  // namespace

Result<void> bench_corpus(const Settings& settings, const CorpusOptions& options) {
  std::ifstream file(options.cases);
  const nlohmann::json cases = nlohmann::json::parse(file, nullptr, false);
  if (!cases.is_array())
    return Error{ErrorCode::invalid_argument, "'" + options.cases.string() + "' holds no cases"};
  CUBINET_TRY_ASSIGN(const std::shared_ptr<const Driver> driver, Driver::open());
  CUBINET_TRY_ASSIGN(const std::shared_ptr<const Device> device, Device::open(driver, settings.device));
  CUBINET_TRY(device->make_current());
  CUBINET_TRY_ASSIGN(RuntimeOptions runtime_settings, runtime_options(settings, {}, options.bundles));
  runtime_settings.compile = CompilePolicy::never;
  CUBINET_TRY_ASSIGN(const std::shared_ptr<Runtime> runtime, Runtime::create(std::move(runtime_settings)));
  std::size_t right = 0;
  for (const nlohmann::json& given : cases) {
    const Result<void> outcome = run_case(*runtime, device, settings.device, given);
    right += outcome ? 1U : 0U;
    std::cout << (outcome ? "right  " : "WRONG  ") << given.at("name").get<std::string>() << "  "
              << given.at("kernel").get<std::string>() << (outcome ? "" : "  " + outcome.error().to_line())
              << std::endl;
  }
  std::cout << right << " of " << cases.size() << " are right\n";
  if (right == cases.size()) return {};
  return Error{ErrorCode::internal,
               std::to_string(cases.size() - right) + " kernels of the corpus are wrong"};
}

}  // namespace cubinet::bench
