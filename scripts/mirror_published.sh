#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Mirrors the published package flashinfer-cubin 0.6.13 into a folder, serves it with nginx, and
# lets FlashInfer 0.6.13's own unmodified artifacts.py and cubin_loader.py download all of it. Then
# mirrors it from that server by the digests that FlashInfer pins, kills a mirror run half-way and
# continues it, and imports the result. Needs neither a GPU nor torch.
#
# Usage: mirror_published.sh [-t TOOL] [FOLDER]
#   FOLDER   the unpacked package, or its folder cubins; default: fetched by pip (458 MB) and
#            unpacked (1.9 GB) into build/published
#   TOOL     the cubinet executable; default: build/release is built
# Needs nginx, pip and 8 GB below TMPDIR. Exits with 1 if a file is missing, wrong or unexpected.
set -euo pipefail
# shellcheck source=scripts/published.sh
source "$(dirname "${BASH_SOURCE[0]}")/published.sh"

wrong() {
  printf 'wrong: %s\n' "$*" >&2
  exit 1
}
# run DOCUMENT VERB…: runs the tool, keeps its document, and prints its output only if it fails.
run() {
  local document=$1
  shift
  "$tool" --home "$work/home" --json "$@" >"$document" 2>"$work/said" || {
    tail -5 "$work/said" >&2
    wrong "cubinet $1 ended with another status than 0"
  }
}
# field DOCUMENT EXPRESSION: evaluates an expression over the tool's JSON document.
field() {
  python3 -c 'import json,sys; d=json.load(open(sys.argv[1])); f=d["folders"]; print(eval(sys.argv[2]))' "$1" "$2"
}

tool='' commit=''
read_published_line "mirror_published.sh [-t TOOL] [FOLDER]" t: "$@"
package=$("$root/scripts/fetch_published.sh" flashinfer-python)
nginx=$(PATH=$PATH:/usr/sbin command -v nginx) || die "nginx is not installed: apt-get install nginx-light"

prepare_published_tool

work=$(mktemp -d "${TMPDIR:-/tmp}/mirror_published.XXXXXX")
stop() {
  [[ ! -s $work/nginx.pid ]] || kill "$(<"$work/nginx.pid")"
  rm -rf "$work"
}
trap stop EXIT
chmod 755 "$work"
python3 -m pip install --quiet --disable-pip-version-check --root-user-action ignore --target "$work/needed" \
  requests filelock tqdm || die "pip could not fetch what FlashInfer's download needs: requests, filelock, tqdm"
flashinfer() {
  PYTHONPATH=$work/needed HOME=$work FLASHINFER_CUBINS_REPOSITORY=${url:-} FLASHINFER_CUBIN_DIR=$work/downloaded \
    python3 "$root/scripts/flashinfer_download.py" "$package" "$1"
}
flashinfer pins >"$work/pins"

echo "== the unpacked package into a folder, by the digests that FlashInfer pins"
run "$work/made.json" mirror "$folder" "$work/www" --checksums "$work/pins"
field "$work/made.json" '"%d folders, %d files, %d bytes in %.1f s; %d left out" % (len(f), sum(x["fetched"] for x in f), sum(x["bytes"] for x in f), d["seconds"], sum(x["left_out"]["count"] for x in f))'
[[ $(field "$work/made.json" 'sum(x["fetched"] for x in f)') == 16004 ]] || wrong "other than 16,004 files were mirrored"
[[ $(field "$work/made.json" 'sum(x["left_out"]["count"] for x in f)') == 960 ]] || wrong "other than 960 .so were left out"
[[ -z $(find "$work/www" -name '*.so') ]] || wrong "the mirror has what runs on the host"

echo "== again: what is there stays"
run "$work/again.json" mirror "$folder" "$work/www" --checksums "$work/pins"
field "$work/again.json" '"%d files compared in %.1f s" % (sum(x["there"] for x in f), d["seconds"])'
[[ $(field "$work/again.json" 'sum(x["fetched"] for x in f)') == 0 ]] || wrong "a second run fetched something"

port=$(python3 -c 'import socket; s=socket.socket(); s.bind(("127.0.0.1",0)); print(s.getsockname()[1])')
cat >"$work/nginx.conf" <<CONF
user root;
pid $work/nginx.pid;
error_log $work/error.log;
events { worker_connections 256; }
http { access_log off; keepalive_requests 100000; server { listen 127.0.0.1:$port; root $work/www; autoindex off; } }
CONF
"$nginx" -c "$work/nginx.conf" -e "$work/error.log" || die "nginx did not start: $(<"$work/error.log")"
url=http://127.0.0.1:$port/

echo "== FlashInfer 0.6.13's own download from nginx over that folder"
flashinfer download 2>"$work/flashinfer.log" || { tail -5 "$work/flashinfer.log" >&2; wrong "FlashInfer's download or its check failed"; }
python3 - "$work/www" "$work/downloaded" <<'COMPARE' || wrong "what FlashInfer has is not what the mirror has"
import filecmp, os, sys
def names(root, own):
    return {os.path.relpath(os.path.join(folder, name), root) for folder, _, files in os.walk(root) for name in files
            if not name.endswith(".lock") and name not in own}
mirror, downloaded = names(sys.argv[1], {"index.html"}), names(sys.argv[2], ())
_, differ, failed = filecmp.cmpfiles(sys.argv[1], sys.argv[2], mirror & downloaded, shallow=False)
print(f"{len(mirror & downloaded)} files the same, {len(mirror ^ downloaded)} not on both sides")
sys.exit(1 if mirror ^ downloaded or differ or failed else 0)
COMPARE
rm -rf "$work/downloaded"

echo "== from that server into another folder, killed on the way"
"$tool" mirror "$url" "$work/pulled" --checksums "$work/pins" --plain-http "127.0.0.1:$port" >/dev/null 2>&1 &
sleep 3
kill -9 $! 2>/dev/null || true
wait $! 2>/dev/null || true
before=$(find "$work/pulled" -name '*.cubin' | wc -l)
run "$work/pulled.json" mirror "$url" "$work/pulled" --checksums "$work/pins" --plain-http "127.0.0.1:$port"
field "$work/pulled.json" '"'"$before"' cubins when it was killed; then %d files there, %d fetched, in %.1f s" % (sum(x["there"] for x in f), sum(x["fetched"] for x in f), d["seconds"])'
(($(field "$work/pulled.json" 'sum(x["there"] for x in f)') >= before)) || wrong "what was whole was fetched again"
diff -rq "$work/www" "$work/pulled" || wrong "the mirror's mirror is another"
run "$work/import.json" import-artifacts "$work/pulled"
python3 -c 'import json,sys; d=json.load(open(sys.argv[1])); print(d["rows"], "rows,", d["cubins"], "cubins imported from the mirror")' "$work/import.json"
echo "all as it should be"
