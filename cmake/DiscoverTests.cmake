# SPDX-License-Identifier: Apache-2.0
# Writes the file that makes each TEST_CASE a ctest. cubinet_add_tests runs it after a test
# executable was linked. The labels of a test are those of the executable and the name of its test
# suite. doctest's own script runs the executable once more per test to set a label, and supports no
# list properties.
#
# cmake -DEXECUTABLE=<file> [-DLAUNCHER=<command>] -DPREFIX=<text> -DSETTINGS=<file> -DOUTPUT=<file>
#       -P DiscoverTests.cmake
#
# SETTINGS sets `labels` and `environment`.
include(${SETTINGS})
execute_process(COMMAND ${LAUNCHER} ${EXECUTABLE} --list-test-cases --reporters=xml OUTPUT_VARIABLE listed
                RESULT_VARIABLE status)
# Names consist of letters, digits, spaces and commas (scripts/check_layout.py), so neither XML nor
# a list changes them.
string(REGEX MATCHALL "<TestCase name=\"[^\"]*\"( testsuite=\"[^\"]*\")?" cases "${listed}")
if(status OR NOT cases)
  message(FATAL_ERROR "'${EXECUTABLE}' names no test case (${status}):\n${listed}")
endif()
set(script "")
foreach(case IN LISTS cases)
  string(REGEX REPLACE "<TestCase name=\"([^\"]*)\".*" "\\1" name "${case}")
  set(case_labels ${labels})
  if(case MATCHES " testsuite=\"([^\"]*)\"")
    list(APPEND case_labels ${CMAKE_MATCH_1})
  endif()
  # doctest separates filters by commas.
  string(REPLACE "," "\\," filter "${name}")
  string(APPEND script "add_test([==[${PREFIX}${name}]==] ${LAUNCHER} [==[${EXECUTABLE}]==] [==[--test-case=${filter}]==])
set_tests_properties([==[${PREFIX}${name}]==] PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77 LABELS [==[${case_labels}]==]
                     ENVIRONMENT [==[${environment}]==])
")
endforeach()
file(WRITE ${OUTPUT} "${script}")
