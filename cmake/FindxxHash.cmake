# SPDX-License-Identifier: Apache-2.0
# Finds xxHash through its pkg-config file, the only description that Debian and Ubuntu ship.
#
# Defines xxHash::xxhash. With xxHash_USE_STATIC_LIBS the static archive is taken. Installed beside
# cubinetConfig.cmake, so that consumers of the static library resolve the same target.

find_package(PkgConfig QUIET)
if(PkgConfig_FOUND)
  pkg_check_modules(PC_xxHash QUIET libxxhash)
endif()

find_path(xxHash_INCLUDE_DIR xxhash.h HINTS ${PC_xxHash_INCLUDE_DIRS})
if(xxHash_USE_STATIC_LIBS)
  find_library(xxHash_LIBRARY NAMES libxxhash.a HINTS ${PC_xxHash_LIBRARY_DIRS})
else()
  find_library(xxHash_LIBRARY NAMES xxhash HINTS ${PC_xxHash_LIBRARY_DIRS})
endif()
mark_as_advanced(xxHash_INCLUDE_DIR xxHash_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  xxHash
  REQUIRED_VARS xxHash_LIBRARY xxHash_INCLUDE_DIR
  VERSION_VAR PC_xxHash_VERSION)

if(xxHash_FOUND AND NOT TARGET xxHash::xxhash)
  add_library(xxHash::xxhash UNKNOWN IMPORTED)
  set_target_properties(xxHash::xxhash PROPERTIES IMPORTED_LOCATION "${xxHash_LIBRARY}"
                                                  INTERFACE_INCLUDE_DIRECTORIES "${xxHash_INCLUDE_DIR}")
endif()
