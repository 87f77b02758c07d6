#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# need.sh PACKAGE...: installs the Debian or Ubuntu packages that are missing. Without root it
# prints the line to ask for and fails.
set -euo pipefail

missing=()
for package in "$@"; do
    dpkg-query -W -f='${db:Status-Abbrev}' "$package" 2>/dev/null | grep -q '^ii' || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

if ! command -v apt-get >/dev/null; then
    echo "missing: ${missing[*]} (Debian names; install them with this system's package manager)" >&2
    exit 1
fi
if [ "$(id -u)" -ne 0 ]; then
    echo "Some packages are missing. Ask an administrator for:" >&2
    echo "    apt-get update && apt-get install -y --no-install-recommends ${missing[*]}" >&2
    echo "or take the relocatable tarball (make dist on another machine)." >&2
    exit 1
fi
echo "installing: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq || echo "apt-get update failed; trying with the lists that are here" >&2
apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
