# SPDX-License-Identifier: Apache-2.0
# cubinet_install_tool(<target> <name> COMPLETION <argument>... MANUAL <argument>...)
#
# Installs an executable with its completions and its manual page, which it writes itself: the
# completions with the arguments and the name of a shell. A cross-compiled one needs an emulator.

include_guard(GLOBAL)

function(cubinet_install_tool target name)
  cmake_parse_arguments(arg "" "" "COMPLETION;MANUAL" ${ARGN})
  if(NOT CUBINET_INSTALL)
    return()
  endif()
  install(TARGETS ${target} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tool)
  if(CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR)
    return()
  endif()
  set(pages ${CMAKE_CURRENT_BINARY_DIR}/pages)
  file(MAKE_DIRECTORY ${pages})
  set(tool ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:${target}>)
  add_custom_command(
    TARGET ${target} POST_BUILD
    COMMAND ${tool} ${arg_COMPLETION} bash > ${pages}/${name}
    COMMAND ${tool} ${arg_COMPLETION} zsh > ${pages}/_${name}
    COMMAND ${tool} ${arg_COMPLETION} fish > ${pages}/${name}.fish
    COMMAND ${tool} ${arg_MANUAL} > ${pages}/${name}.1
    VERBATIM)
  install(FILES ${pages}/${name} DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT tool)
  install(FILES ${pages}/${name}.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT tool)
  install(FILES ${pages}/${name}.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT tool)
  # Zsh of Debian searches site-functions below /usr/local alone, and vendor-completions below /usr.
  set(zsh_folder site-functions)
  if(EXISTS /etc/debian_version)
    list(APPEND zsh_folder vendor-completions)
  endif()
  foreach(folder IN LISTS zsh_folder)
    install(FILES ${pages}/_${name} DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/${folder} COMPONENT tool)
  endforeach()
endfunction()
