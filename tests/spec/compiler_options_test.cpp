// SPDX-License-Identifier: Apache-2.0
#include <cubinet/spec/compiler_options.hpp>

#include <doctest/doctest.h>

using namespace cubinet;

namespace {

using Flags = std::vector<std::string>;

// Returns the flags that the compiler would receive.
Flags taken(const Flags& flags) {
  const auto options = parse_compiler_flags(flags);
  REQUIRE_MESSAGE(options.has_value(), options.error().to_line());
  return compiler_flags(*options);
}

Error refused(const Flags& flags) {
  const auto options = parse_compiler_flags(flags);
  REQUIRE_FALSE(options);
  CHECK(options.error().code == ErrorCode::invalid_argument);
  return options.error();
}

}  // namespace

TEST_CASE("one meaning has one form, however a flag is written") {
  for (const Flags& standard : {Flags{"-std=c++20"}, Flags{"--std=c++20"}, Flags{"--std", "c++20"}})
    CHECK(taken(standard) == Flags{"--std=c++20"});
  for (const Flags& macro :
       {Flags{"-DN"}, Flags{"-D", "N"}, Flags{"-DN=1"}, Flags{"--define-macro=N"}, Flags{"-D", "N=1"}})
    CHECK(taken(macro) == Flags{"-DN=1"});
  CHECK(taken({"-lineinfo", "-G", "-default-device", "--use_fast_math", "-w"}) ==
        Flags{"--device-as-default-execution-space", "--device-debug", "--disable-warnings",
              "--generate-line-info", "--use_fast_math"});
  CHECK(taken({"-maxrregcount=64", "--fmad=false"}) == taken({"-fmad=false", "--maxrregcount", "64"}));
  CHECK(taken({"-ftz", "true", "--split-compile", "2"}) == Flags{"--ftz=true", "--split-compile=2"});
  CHECK(taken({"-brief-diag=true", "-jtd=50", "-no-err-no", "-no-lineinfo-ia"}) ==
        Flags{"--brief-diagnostics=true", "--jump-table-density=50", "--no-display-error-number",
              "--no-lineinfo-inlined-at"});
  CHECK(taken({}).empty());
}

TEST_CASE("macros keep their values, and of two words on one macro the last counts") {
  CHECK(taken({"-DNAME=\"a b\"=c", "-DF(x)=x", "-DEMPTY="}) ==
        Flags{"-DEMPTY=", "-DF(x)=x", "-DNAME=\"a b\"=c"});
  CHECK(taken({"-DA", "-UA"}) == Flags{"-UA"});
  CHECK(taken({"-UA", "-DA=2"}) == Flags{"-DA=2"});
  CHECK(taken({"-UA", "-DA(x)=x"}) == Flags{"-DA(x)=x"});
  CHECK(taken({"-DA(x)=x", "-DA=2"}) == Flags{"-DA=2"});
  CHECK(taken({"-DA=2", "-DA(x)=x"}) == Flags{"-DA(x)=x"});
  CHECK(taken({"-DA(x)=x", "-DA(y)=2", "-UA"}) == Flags{"-UA"});
  CHECK(refused({"-DA=1", "-DA=2"}).message.find("another value") != std::string::npos);
  CHECK(refused({"-D1A"}).message.find("1A") != std::string::npos);
  CHECK(refused({"-D"}).message.find("missing") != std::string::npos);
}

TEST_CASE("what is not known is left to the compiler as it is") {
  CHECK(taken({"--device-int128", "--new-thing=3", "-other"}) ==
        Flags{"--device-int128", "--new-thing=3", "--other"});
  CHECK(taken({"--diag-suppress=1", "--diag-suppress=2", "-Xptxas", "-O3"}) ==
        Flags{"--diag-suppress=1,2", "--ptxas-options=-O3"});
  // ptxas receives one option at a time, in whatever form they were written.
  CHECK(taken({"-Xptxas=-O1,-v", "-Xptxas", "-dlcm=ca"}) ==
        Flags{"--ptxas-options=-O1", "--ptxas-options=-v", "--ptxas-options=-dlcm=ca"});
}

TEST_CASE("what reads or writes files or makes something else is refused by name, with the reason") {
  for (const char* flag :
       {"-include", "--pre-include=a.h", "--time=t.csv", "--create-pch=x", "--pch", "-optix-ir", "-ewp",
        "-gen-opt-lto", "-arch=sm_90", "--gpu-architecture=sm_90", "-I/usr/include", "-I", "--no-cache",
        "--fdevice-time-trace=t", "--use-bundled-headers=/h", "--tile-only"}) {
    const Error error = refused({flag});
    CHECK_MESSAGE(error.message.find(flag) != std::string::npos, error.message);
    CHECK_MESSAGE(error.message.find("not taken") != std::string::npos, error.message);
  }
  for (const char* none : {"", "-", "--", "std=c++20", "kernel.cu"})
    refused({none});
  refused({"--x=a\nb"});
  refused({"--D:N=4"});
  refused({"-std", "-lineinfo"});
  for (const Flags& options :
       {Flags{"-Xptxas=--options-file=o"}, Flags{"-Xptxas=-v,-optf=o"}, Flags{"-Xptxas", "@o"},
        Flags{"-Xptxas", "-optf", "-Xptxas", "o"}, Flags{"-Xptxas", "/tmp/a.ptx"},
        Flags{"--ptxas-options=--apply-controls=o"}, Flags{"-Xptxas", "--new-thing=/tmp/o"}})
    CHECK(refused(options).message.find("ptxas would read or write a file") != std::string::npos);
}

TEST_CASE("code that is to be linked is asked for in one form") {
  for (const Flags& relocatable : {Flags{"-rdc=true"}, Flags{"-rdc", "true"}, Flags{"-dc"},
                                   Flags{"--device-c"}, Flags{"--relocatable-device-code=true"}})
    CHECK(taken(relocatable) == Flags{"--relocatable-device-code=true"});
  for (const Flags& whole : {Flags{"-rdc=false"}, Flags{"-dw"}, Flags{"--device-w"}})
    CHECK(taken(whole).empty());
  CHECK(taken({"-dlto"}) == Flags{"--dlink-time-opt"});
  CHECK(taken({"-rdc=true", "--dlink-time-opt"}) == Flags{"--dlink-time-opt"});
  const auto merged =
      with_defaults(*parse_compiler_flags(Flags{"-dlto"}), *parse_compiler_flags(Flags{"-dc"}));
  CHECK(compiler_flags(merged) == Flags{"--dlink-time-opt"});
  CHECK(refused({"-rdc=maybe"}).message.find("true or false") != std::string::npos);
  refused({"-rdc"});
  refused({"-dc=1"});
}

TEST_CASE("defaults hold where nothing else is said") {
  const auto given = *parse_compiler_flags(Flags{"-DA=2", "-UB", "--std=c++20"});
  const auto defaults = *parse_compiler_flags(Flags{"-UA", "-DB=1", "-DC=3", "--std=c++14", "--fmad=false"});
  CHECK(compiler_flags(with_defaults(given, defaults)) ==
        Flags{"-DA=2", "-DC=3", "-UB", "--fmad=false", "--std=c++20"});
  CHECK(compiler_flags(with_defaults(*parse_compiler_flags(Flags{"-DA(x)=x"}), defaults)) ==
        Flags{"-DA(x)=x", "-DB=1", "-DC=3", "--fmad=false", "--std=c++14"});
}

TEST_CASE("the macros that are defined are listed with what each stands for") {
  const std::vector<std::string> flags = {"-DN=4", "-DF(x)=x+1", "-DON", "-UM", "-lineinfo"};
  using Macros = std::vector<std::pair<std::string, std::string>>;
  CHECK(defined_macros(*parse_compiler_flags(flags)) == Macros{{"F(x)", "x+1"}, {"N", "4"}, {"ON", "1"}});
}
