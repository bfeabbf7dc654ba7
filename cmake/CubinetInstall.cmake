# SPDX-License-Identifier: Apache-2.0
# Installs the library, its public headers, a CMake package and a pkg-config file. The third-party
# libraries that a consumer has to link are derived from what the modules link, so that neither file
# can fall behind. Component `tool` is what a user of the command line needs, `development` what a
# program needs to be built.

include_guard(GLOBAL)
include(CMakePackageConfigHelpers)

get_property(headers GLOBAL PROPERTY CUBINET_PUBLIC_HEADERS)
get_property(modules GLOBAL PROPERTY CUBINET_LIBRARY_MODULES)
get_property(linked GLOBAL PROPERTY CUBINET_LINKED_LIBRARIES)

set(include_roots "")
foreach(module IN LISTS modules)
  get_target_property(module_dir cubinet_${module} SOURCE_DIR)
  list(APPEND include_roots ${module_dir}/include)
endforeach()
target_sources(cubinet PUBLIC FILE_SET HEADERS BASE_DIRS ${include_roots} FILES ${headers})
# Each public header is compiled alone, to check that it includes everything it needs.
set_target_properties(cubinet PROPERTIES VERIFY_INTERFACE_HEADER_SETS ${CUBINET_BUILD_TESTS})

# Maps an imported target to its CMake package and its pkg-config name.
set(cmake_OpenSSL::Crypto "find_dependency(OpenSSL 3.0 COMPONENTS Crypto)")
set(cmake_SQLite::SQLite3 "find_dependency(SQLite3 3.40)")
set(cmake_Threads::Threads "find_dependency(Threads)")
set(cmake_xxHash::xxhash "find_dependency(xxHash 0.8)")
set(cmake_zstd::libzstd
    "find_dependency(zstd CONFIG)
if(NOT TARGET zstd::libzstd)
  add_library(zstd::libzstd INTERFACE IMPORTED)
  target_link_libraries(zstd::libzstd INTERFACE zstd::libzstd_shared)
endif()")
set(pc_OpenSSL::Crypto libcrypto)
set(pc_SQLite::SQLite3 sqlite3)
set(pc_xxHash::xxhash libxxhash)
set(pc_zstd::libzstd libzstd)
# Imported target -> the Debian package with its headers.
set(deb_OpenSSL::Crypto "libssl-dev (>= 3.0)")
set(deb_SQLite::SQLite3 "libsqlite3-dev (>= 3.40)")
set(deb_xxHash::xxhash "libxxhash-dev (>= 0.8)")
set(deb_zstd::libzstd libzstd-dev)

set(CUBINET_FIND_DEPENDENCIES "")
set(pc_requires "")
set(deb_requires "")
set(pc_libs "-lstdc++ -lm")
foreach(library IN LISTS linked)
  if(DEFINED cmake_${library})
    string(APPEND CUBINET_FIND_DEPENDENCIES "${cmake_${library}}\n")
    if(DEFINED pc_${library})
      list(APPEND pc_requires ${pc_${library}})
      list(APPEND deb_requires "${deb_${library}}")
    else()
      string(APPEND pc_libs " -pthread")
    endif()
  elseif(library STREQUAL CMAKE_DL_LIBS)
    string(APPEND pc_libs " -l${library}")
  elseif(TARGET ${library})
    message(FATAL_ERROR "cmake/CubinetInstall.cmake does not know how a consumer finds ${library}")
  endif()
endforeach()
list(JOIN pc_requires " " pc_requires)

# Relative to the .pc file, so that the installed tree can be moved.
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX BASE_DIRECTORY ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig
           OUTPUT_VARIABLE CUBINET_PC_PREFIX)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/cubinet)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/cubinetConfig.cmake.in cubinetConfig.cmake
                              INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(cubinetConfigVersion.cmake COMPATIBILITY SameMinorVersion)
# cubinet.pc is for C programs and the shared library, cubinet-cpp.pc for C++ programs and the
# archive, whose name keeps the linker from taking the shared library.
function(configure_pc file description link)
  set(CUBINET_PC_DESCRIPTION "${description}")
  set(CUBINET_PC_LINK "${link}")
  configure_file(${PROJECT_SOURCE_DIR}/cmake/cubinet.pc.in ${file}.pc @ONLY)
endfunction()
configure_pc(cubinet "${PROJECT_DESCRIPTION}" "Libs: -L\${libdir} -lcubinet")
configure_pc(cubinet-cpp "${PROJECT_DESCRIPTION}, for C++"
             "Requires: ${pc_requires}\nLibs: -L\${libdir} -l:libcubinet.a ${pc_libs}")

# The C library has no dependencies that a consumer would need, so it has its own export set.
if(TARGET cubinet_c)
  install(
    TARGETS cubinet_c
    EXPORT cubinetCTargets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT development)
  install(EXPORT cubinetCTargets NAMESPACE cubinet:: DESTINATION ${package_dir} COMPONENT development)
endif()
install(
  TARGETS cubinet
  EXPORT cubinetTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
  FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
install(EXPORT cubinetTargets NAMESPACE cubinet:: DESTINATION ${package_dir} COMPONENT development)
install(FILES ${PROJECT_BINARY_DIR}/cubinetConfig.cmake ${PROJECT_BINARY_DIR}/cubinetConfigVersion.cmake
              ${PROJECT_SOURCE_DIR}/cmake/FindxxHash.cmake DESTINATION ${package_dir} COMPONENT development)
install(FILES ${PROJECT_BINARY_DIR}/cubinet.pc ${PROJECT_BINARY_DIR}/cubinet-cpp.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
# The pages and the examples keep their places, so that links between them hold.
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md
        DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT tool)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs ${PROJECT_SOURCE_DIR}/examples DESTINATION ${CMAKE_INSTALL_DOCDIR}
        COMPONENT tool)
