#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fetches a published package of release 0.6.13 by pip, compares it with its digest on PyPI, and
# unpacks it.
#
# Usage: fetch_published.sh flashinfer-cubin | flashinfer-python | cubins [FOLDER]
# Prints its folder: build/published/flashinfer_cubin (458 MB to fetch, 1.9 GB) or .../flashinfer
# (14 MB, 80 MB).
# `cubins` prints the folder of cubins in flashinfer_cubin, or in FOLDER, which is that package
# unpacked or that folder itself. Existing files stay. Exits with 3 if the package cannot be
# fetched.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

die() {
  printf 'error: %s\n' "$*" >&2
  exit 3
}
case ${1:-} in
  flashinfer-cubin)
    folder=flashinfer_cubin wheel=flashinfer_cubin-0.6.13-py3-none-any.whl
    digest=41e4848c2d09d220e8394489b2fb6cfec6b6ad09f897b5ab8b39fc23055f6c24
    ;;
  flashinfer-python)
    folder=flashinfer wheel=flashinfer_python-0.6.13-py3-none-any.whl
    digest=239e6ddc3cbbaf0bee251861a8c7c69438b1171830d69ddfa133ddea4494850d
    ;;
  cubins)
    folder=${2:-$("${BASH_SOURCE[0]}" flashinfer-cubin)}
    [[ -d $folder/cubins ]] && folder=$folder/cubins
    [[ -d $folder ]] || die "'$folder' is no folder"
    printf '%s\n' "$folder"
    exit
    ;;
  *)
    printf 'usage: fetch_published.sh flashinfer-cubin | flashinfer-python | cubins [FOLDER]\n' >&2
    exit 2
    ;;
esac

published=$root/build/published
if [[ ! -d $published/$folder ]]; then
  # Moved when complete, so that an interrupted download is not used.
  partial=$published/partial_$folder
  rm -rf "$partial"
  mkdir -p "$partial"
  python3 -m pip download --quiet --no-deps --no-cache-dir --dest "$partial" "$1==0.6.13" >&2 ||
    die "pip could not fetch $1 0.6.13: its own words are above"
  sha256sum --quiet -c <<<"$digest  $partial/$wheel" >&2 || die "$wheel is not the file that was published"
  python3 -m zipfile -e "$partial/$wheel" "$partial"
  mv "$partial/$folder" "$published/$folder"
  rm -rf "$partial"
fi
printf '%s\n' "$published/$folder"
