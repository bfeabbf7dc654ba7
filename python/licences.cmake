# SPDX-License-Identifier: Apache-2.0
# Installs the licences of everything that is linked into the wheel, or whose headers are compiled
# into it, under .dist-info/licenses. The texts are those that Debian and the packages install.

set(documents /usr/share/doc)
set(licences
    CLI11=${documents}/libcli11-dev/copyright
    fmt=${documents}/libfmt-dev/copyright
    libstdc++=${documents}/libstdc++-12-dev/copyright
    nanobind=${nanobind_DIR}/../../nanobind-${nanobind_VERSION}.dist-info/licenses/LICENSE
    nlohmann-json=${documents}/nlohmann-json3-dev/copyright
    openssl=${documents}/libssl-dev/copyright
    sqlite3=${documents}/libsqlite3-dev/copyright
    xxhash=${documents}/libxxhash-dev/copyright
    zstd=${CUBINET_ZSTD_SOURCE}/LICENSE)
foreach(licence IN LISTS licences)
  string(REGEX MATCH "^([^=]+)=(.+)$" found ${licence})
  set(name ${CMAKE_MATCH_1})
  file(REAL_PATH ${CMAKE_MATCH_2} text)
  if(NOT EXISTS ${text})
    message(FATAL_ERROR "the licence of ${name} is not installed at ${text}")
  endif()
  install(FILES ${text} DESTINATION ${SKBUILD_METADATA_DIR}/licenses RENAME ${name}.txt COMPONENT python
          EXCLUDE_FROM_ALL)
endforeach()
