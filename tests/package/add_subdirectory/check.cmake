# SPDX-License-Identifier: Apache-2.0
# Adds cubinet to a tree of somebody else's: the library is there, and neither the tool nor an
# installation that nobody asked for. Then the options that ask for them, of which only the script
# that would install is looked at.
file(REMOVE_RECURSE ${BINARY_DIR})
set(tool_script ${BINARY_DIR}/build/cubinet/cli/cmake_install.cmake)

function(configure)
  execute_process(
    COMMAND ${CMAKE_COMMAND} -E env CUDAToolkit_ROOT=${CUDA_ROOT} ${CMAKE_COMMAND} -G ${GENERATOR} -S
            ${CMAKE_CURRENT_LIST_DIR} -B ${BINARY_DIR}/build -DCUBINET_ROOT=${ROOT} ${COMPILER} ${ARGN}
    OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
endfunction()

configure()
if(EXISTS ${tool_script})
  message(FATAL_ERROR "the tool is built where nobody asked for it")
endif()
execute_process(COMMAND ${CMAKE_COMMAND} --build ${BINARY_DIR}/build --target consumer COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BINARY_DIR}/build --prefix ${BINARY_DIR}/prefix
                COMMAND_ERROR_IS_FATAL ANY)
if(EXISTS ${BINARY_DIR}/prefix)
  message(FATAL_ERROR "something is installed where nobody asked for it")
endif()

configure(-DCUBINET_BUILD_CLI=ON)
file(READ ${tool_script} script)
if(script MATCHES "file\\(INSTALL")
  message(FATAL_ERROR "the tool is installed without CUBINET_INSTALL")
endif()

configure(-DCUBINET_INSTALL=ON -DCMAKE_INSTALL_LIBDIR=lib/elsewhere)
file(READ ${tool_script} script)
if(NOT script MATCHES "file\\(INSTALL")
  message(FATAL_ERROR "the tool is not installed with CUBINET_INSTALL:\n${script}")
endif()
