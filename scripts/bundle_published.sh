#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Packs the attention cubins of the published package flashinfer-cubin 0.6.13 into one bundle:
# imports them into a home, packs them with the profile `ship` and pushes them to a docker-registry
# on this machine. Then pulls the kernels that `select` chooses for DeepSeek-V3's and Llama-3-70B's
# shapes on a device of 10.3 into an empty home, once more, and the whole bundle into other homes.
# Reports bytes and times. Needs no GPU.
#
# Usage: bundle_published.sh [-t TOOL] [-o RESULT.json] [-c COMMIT] [FOLDER]
#   FOLDER   the unpacked package, or its folder cubins; default: fetched by pip (458 MB) and
#            unpacked (1.9 GB) into build/published
#   TOOL     the cubinet executable; default: build/release is built
#   RESULT   the file for the figures; default: bench/results/published_bundle.json
#   COMMIT   the commit in the result; default: the tree's
# Needs docker-registry and 4 GB below TMPDIR. Exits with 1 if something is missing or wrong, or a
# goal is missed.
set -euo pipefail
# shellcheck source=scripts/published.sh
source "$(dirname "${BASH_SOURCE[0]}")/published.sh"

tool='' commit='' result=$root/bench/results/published_bundle.json
read_published_line "bundle_published.sh [-t TOOL] [-o RESULT.json] [-c COMMIT] [FOLDER]" t:o:c: "$@"
registry=$(command -v docker-registry) || die "docker-registry is not installed: apt-get install docker-registry"

prepare_published_tool

work=$(mktemp -d "${TMPDIR:-/tmp}/bundle_published.XXXXXX")
process=''
stop() {
  [[ -z $process ]] || kill "$process"
  rm -rf "$work"
}
trap stop EXIT

port=$(python3 -c 'import socket; s=socket.socket(); s.bind(("127.0.0.1",0)); print(s.getsockname()[1])')
cat >"$work/registry.yml" <<CONF
version: 0.1
log: {level: error}
storage: {filesystem: {rootdirectory: $work/registry}}
http: {addr: "127.0.0.1:$port"}
CONF
OTEL_TRACES_EXPORTER=none "$registry" serve "$work/registry.yml" >"$work/registry.log" 2>&1 &
process=$!

python3 "$root/bench/peers/published_bundle.py" --tool "$tool" --folder "$folder" --work "$work" --server "127.0.0.1:$port" \
  --commit "$commit" -o "$result"
