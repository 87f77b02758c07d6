#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# need.sh PACKAGE... [-- OPTIONAL...]: installs the Debian or Ubuntu packages that are missing. A|B
# is A, or B where this distribution has no A. Without root it prints the line to ask for, and fails
# if a package is missing that is not optional. Elsewhere it does nothing: `meson setup` names what
# is missing.
set -euo pipefail
command -v dpkg-query >/dev/null && command -v apt-get >/dev/null || exit 0

installed() {
    local name
    for name in ${1//|/ }; do
        dpkg-query -W -f='${db:Status-Abbrev}' "$name" 2>/dev/null | grep -q '^.i' && return
    done
    return 1
}

# The first of A|B that can be installed; A if none can.
available() {
    local name
    for name in ${1//|/ }; do
        if LC_ALL=C apt-cache policy "$name" 2>/dev/null | grep -q 'Candidate: [^(]'; then
            echo "$name"
            return
        fi
    done
    echo "${1%%|*}"
}

missing=()
needed=0
optional=
for package in "$@"; do
    if [ "$package" = -- ]; then
        optional=1
    elif ! installed "$package"; then
        missing+=("$package")
        [ -n "$optional" ] || needed=1
    fi
done
[ ${#missing[@]} -gt 0 ] || exit 0

root=
[ "$(id -u)" -ne 0 ] || root=1
export DEBIAN_FRONTEND=noninteractive
if [ -n "$root" ]; then
    apt-get update -qq || echo "apt-get update failed; trying with the lists that are here" >&2
fi
names=()
for package in "${missing[@]}"; do
    names+=("$(available "$package")")
done

if [ -z "$root" ]; then
    {
        echo "Some packages are missing. Ask an administrator for:"
        echo "    apt-get update && apt-get install -y --no-install-recommends ${names[*]}"
        [ $needed = 0 ] && echo "It works without them too, but cannot follow wake-ups in the kernel." ||
            echo "or take the relocatable tarball (make dist on another machine)."
    } >&2
    exit $needed
fi
echo "installing: ${names[*]}"
apt-get install -y -qq --no-install-recommends "${names[@]}" >/dev/null
