#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# need.sh PACKAGE... [-- OPTIONAL...]: installs the Debian or Ubuntu packages that are missing.
# Without root it prints the line to ask for, and fails if a package is missing that is not optional.
# Elsewhere it does nothing: `meson setup` names what is missing.
set -euo pipefail
command -v dpkg-query >/dev/null && command -v apt-get >/dev/null || exit 0

missing=()
needed=0
optional=
for package in "$@"; do
    if [ "$package" = -- ]; then
        optional=1
    elif ! dpkg-query -W -f='${db:Status-Abbrev}' "$package" 2>/dev/null | grep -q '^.i'; then
        missing+=("$package")
        [ -n "$optional" ] || needed=1
    fi
done
[ ${#missing[@]} -gt 0 ] || exit 0

if [ "$(id -u)" -ne 0 ]; then
    {
        echo "Some packages are missing. Ask an administrator for:"
        echo "    apt-get update && apt-get install -y --no-install-recommends ${missing[*]}"
        [ $needed = 0 ] && echo "It works without them too, but cannot follow wake-ups in the kernel." ||
            echo "or take the relocatable tarball (make dist on another machine)."
    } >&2
    exit $needed
fi
echo "installing: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq || echo "apt-get update failed; trying with the lists that are here" >&2
apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
