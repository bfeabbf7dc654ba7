#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2034 # what it sets is for those that source it
# Sourced by the scripts that test the tool with published packages. Parses their command line,
# finds the folder of cubins and builds the tool.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

die() {
  printf 'error: %s\n' "$*" >&2
  exit 3
}

# USAGE OPTIONS ARGUMENT…: sets `folder` and, from the options in getopts format, `tool`, `result`
# and `commit`, whose defaults the caller has set. Exits with 2 if the line is wrong.
read_published_line() {
  local usage=$1 options=$2 option OPTIND=1
  shift 2
  while getopts "$options" option; do
    case $option in
      t) tool=$OPTARG ;;
      o) result=$OPTARG ;;
      c) commit=$OPTARG ;;
      *) printf 'usage: %s\n' "$usage" >&2 && exit 2 ;;
    esac
  done
  shift $((OPTIND - 1))
  (($# <= 1)) || { printf 'usage: %s\n' "$usage" >&2 && exit 2; }
  folder=$("$root/scripts/fetch_published.sh" cubins "$@")
}

# Builds the tool if the line names none, and sets the commit.
prepare_published_tool() {
  if [[ -z $tool ]]; then
    cmake --preset release -S "$root" -DCUBINET_BUILD_TESTS=OFF -DCUBINET_BUILD_EXAMPLES=OFF >/dev/null
    cmake --build "$root/build/release" --parallel "$(nproc)" --target cubinet_tool >/dev/null
    tool=$root/build/release/cli/cubinet
  fi
  [[ -x $tool ]] || die "'$tool' is no executable"
  [[ -n $commit ]] || commit=$(git -C "$root" rev-parse --short=12 HEAD 2>/dev/null || echo unknown)
}
