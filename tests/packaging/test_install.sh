#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# test_install.sh BUILD: what `meson install` leaves works from where it lies, also when moved.
set -euo pipefail
here=$(cd "$(dirname "$0")/../.." && pwd)
dest=$(mktemp -d)
trap 'rm -rf "$dest"' EXIT
DESTDIR=$dest/tree meson install -C "$1" --no-rebuild --quiet
mapfile -t program < <(find "$dest/tree" -path '*/bin/gpufeed')
[ ${#program[@]} = 1 ] || { echo "gpufeed is not installed once: ${program[*]}" >&2; exit 1; }
mv "$(dirname "$(dirname "${program[0]}")")" "$dest/moved here"
"$here/tools/try-installed.sh" "$dest/moved here"
