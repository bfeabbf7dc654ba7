# SPDX-License-Identifier: Apache-2.0
# Configures one tree again and again while the toolkits of the machine change.
file(REMOVE_RECURSE ${BINARY_DIR})

function(make_toolkit folder version)
  file(WRITE ${BINARY_DIR}/${folder}/include/cuda.h "#define CUDA_VERSION ${version}\n")
  file(WRITE ${BINARY_DIR}/${folder}/include/nvrtc.h "")
endfunction()

function(expect folder)
  execute_process(
    COMMAND ${CMAKE_COMMAND} -E env CUDAToolkit_ROOT=${BINARY_DIR}/first CUDA_HOME=${BINARY_DIR}/second ${CMAKE_COMMAND}
            -G ${GENERATOR} -S ${CMAKE_CURRENT_LIST_DIR} -B ${BINARY_DIR}/build -DCUBINET_ROOT=${ROOT}
    OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
  file(READ ${BINARY_DIR}/build/found found)
  if(NOT found STREQUAL "${BINARY_DIR}/${folder}")
    message(FATAL_ERROR "'${found}' was found, not ${folder}")
  endif()
endfunction()

make_toolkit(first 12090)
make_toolkit(second 13000)
expect(second)
# A toolkit that was found is kept while it exists, so that no file is compiled again.
make_toolkit(first 13010)
expect(second)
file(REMOVE_RECURSE ${BINARY_DIR}/second)
expect(first)
make_toolkit(first 12040)
make_toolkit(second 13000)
expect(second)
