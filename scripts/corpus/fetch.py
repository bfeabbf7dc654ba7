#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fetches the packages of the corpus from PyPI, as sources.json pins them, and unpacks them.

usage: fetch.py FOLDER [PROJECT...]
"""
import hashlib
import json
import pathlib
import sys
import tarfile
import urllib.request
import zipfile

PINS = pathlib.Path(__file__).with_name("sources.json")


def address(project, file):
    request = urllib.request.Request(f"https://pypi.org/simple/{project}/",
                                     headers={"Accept": "application/vnd.pypi.simple.v1+json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        listed = {entry["filename"]: entry["url"] for entry in json.load(answer)["files"]}
    if file not in listed:
        sys.exit(f"PyPI has no '{file}' of '{project}'; pin another in {PINS}")
    return listed[file]


def digest_of(path):
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def fetch(project, pin, folder):
    path = folder / "downloads" / pin["file"]
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        with urllib.request.urlopen(address(project, pin["file"]), timeout=600) as answer:
            part.write_bytes(answer.read())
        part.rename(path)
    if digest_of(path) != pin["sha256"]:
        sys.exit(f"'{path}' is not what sources.json pins; remove it to fetch it again")
    return path


def unpack(archive, target):
    if target.exists():
        return
    part = target.with_name(target.name + ".part")
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            wheel.extractall(part)
    else:
        with tarfile.open(archive) as sdist:
            sdist.extractall(part, filter="data")
    part.rename(target)


def main(arguments):
    folder = pathlib.Path(arguments[0])
    pins = json.loads(PINS.read_text())
    for project in arguments[1:] or pins:
        archive = fetch(project, pins[project], folder)
        unpack(archive, folder / "sources" / project)
        print(f"{project}: {archive.name}")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(sys.argv[1:])
