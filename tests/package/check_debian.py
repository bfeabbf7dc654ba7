#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the Debian packages of a build and checks their contents and dependencies.

Usage: check_debian.py CPACK BUILD PREFIX FOLDER
"""
import pathlib
import shutil
import subprocess
import sys

cpack, build, prefix, folder = sys.argv[1:5]
prefix, folder = pathlib.Path(prefix), pathlib.Path(folder)
errors = []


def run(*command):
    result = subprocess.run([str(each) for each in command], capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}:\n{result.stdout}{result.stderr}")
    return result.stdout


def files_below(top):
    return {str(each.relative_to(top)) for each in top.rglob("*") if not each.is_dir() or each.is_symlink()}


shutil.rmtree(folder, ignore_errors=True)
folder.mkdir(parents=True)
# Compresses quickly, because packages of a test need not be small.
run(cpack, "-G", "DEB", "--config", f"{build}/CPackConfig.cmake", "-B", folder, "-D",
    "CPACK_DEBIAN_COMPRESSION_TYPE=gzip")
packages = {run("dpkg-deb", "--field", each, "Package").strip(): each for each in folder.glob("*.deb")}
if set(packages) != {"cubinet", "libcubinet1", "libcubinet-dev"}:
    sys.exit(f"the packages are {sorted(packages)}")
contents = {}
for name, package in packages.items():
    run("dpkg-deb", "--extract", package, folder / name)
    contents[name] = files_below(folder / name / "usr")
    if files_below(folder / name) != {f"usr/{each}" for each in contents[name]}:
        errors.append(f"{name}: has files outside /usr")

packaged = [each for files in contents.values() for each in files]
for each in sorted(set(each for each in packaged if packaged.count(each) > 1)):
    errors.append(f"{each}: is in two packages")
for each in sorted(set(packaged) ^ files_below(prefix)):
    errors.append(f"{each}: is in a package or in the installation, and not in both")
for each in contents["cubinet"]:
    if each.startswith(("include/", "lib/")):
        errors.append(f"cubinet: has {each}, which belongs to a package of the library")
for each in contents["libcubinet1"]:
    if ".so." not in each:
        errors.append(f"libcubinet1: has {each}, which is not a shared library")
version = run(folder / "cubinet/usr/bin/cubinet", "--version").split()[1]
for name, package in packages.items():
    if run("dpkg-deb", "--field", package, "Version").strip() != version:
        errors.append(f"{name}: does not have the version {version} of the tool")


def dependencies(name, field="Depends"):
    text = run("dpkg-deb", "--field", packages[name], field)
    return {each.split()[0] for each in text.replace("|", ",").split(",") if each.strip()}


# The package depends on the libraries that the tool links. dpkg knows the package of each library.
linked = run("ldd", folder / "cubinet/usr/bin/cubinet").splitlines()
for line in linked:
    words = line.split()
    if len(words) < 3 or not words[2].startswith("/") or str(build) in words[2]:
        continue
    library = pathlib.Path(words[2])
    found = subprocess.run(["dpkg-query", "--search", f"*/{library.name}"], capture_output=True, text=True).stdout
    owners = {each.split(":")[0] for each in found.splitlines()}
    # One owner suffices: libm and libpthread are parts of libc6, for example.
    if owners and not owners & dependencies("cubinet") and library.name.split(".")[0] in ("libcrypto", "libsqlite3", "libzstd", "libxxhash", "libc", "libstdc++"):
        errors.append(f"cubinet: does not depend on {sorted(owners)} of {library.name}")
if "libc6" not in dependencies("cubinet"):
    errors.append("cubinet: does not depend on libc6")
if "libcurl4" not in dependencies("cubinet", "Recommends"):
    errors.append("cubinet: does not recommend libcurl4, which it opens for servers")
for name in dependencies("libcubinet-dev") - {"libcubinet1"}:
    if subprocess.run(["dpkg-query", "--status", name], capture_output=True).returncode != 0:
        errors.append(f"libcubinet-dev: depends on {name}, which this machine does not have")
requires = {"libssl-dev", "libsqlite3-dev", "libxxhash-dev", "libzstd-dev"}
if not requires | {"libcubinet1"} <= dependencies("libcubinet-dev"):
    errors.append(f"libcubinet-dev: depends on {sorted(dependencies('libcubinet-dev'))} alone")

print("\n".join(errors) if errors else f"{sum(map(len, contents.values()))} files in {len(packages)} packages")
sys.exit(bool(errors))
