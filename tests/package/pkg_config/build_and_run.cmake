# SPDX-License-Identifier: Apache-2.0
# Compiles the consumer with nothing but what pkg-config says, with and without --static, and runs
# it.
set(ENV{PKG_CONFIG_PATH} ${PREFIX}/${LIBDIR}/pkgconfig)
file(REMOVE_RECURSE ${BINARY_DIR})
file(MAKE_DIRECTORY ${BINARY_DIR})
foreach(mode "" --static)
  execute_process(COMMAND pkg-config ${mode} --cflags --libs cubinet-cpp OUTPUT_VARIABLE flags COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(flags UNIX_COMMAND "${flags}")
  set(consumer ${BINARY_DIR}/consumer${mode})
  execute_process(COMMAND ${CXX} -std=c++20 ${SOURCE} -o ${consumer} ${flags} -Wl,-rpath,${PREFIX}/${LIBDIR}
                  COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${consumer} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
