#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# dist.sh BUILD OUT: a relocatable tarball for users without root, OUT/gpufeed-VERSION-linux-ARCH.tar.gz.
# Libraries other than glibc are linked statically where their archives are here, else put beside
# the program. The tarball is unpacked and tried before it is left in OUT.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1
out=$2
glibc='^(linux-vdso|ld-linux.*|libc|libm|libdl|libpthread|librt)\.so'

setup=(--prefix=/ -Dportable=true -Dbpf=enabled -Dbuildtype=debugoptimized -Dstrip=true)
if [ -e "$build/build.ninja" ]; then
    meson setup --reconfigure "$build" "${setup[@]}" >/dev/null
else
    meson setup "$build" "${setup[@]}" >/dev/null
fi
ninja -C "$build" gpufeed src/probe/libgpufeed-probe.so sim/libcuda.so.1 sim/libcupti.so.13 \
    sim/libnvidia-ml.so.1 examples/train
version=$("$build/gpufeed" --version | cut -d' ' -f2)
name=gpufeed-$version-linux-$(uname -m)
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
top=$stage/$name
DESTDIR=$top meson install -C "$build" --no-rebuild --quiet

cp README.md LICENSE CHANGELOG.md "$top"
mkdir -p "$top/doc" "$top/licenses"
cp doc/*.md doc/*.json doc/*.png "$top/doc"

# Whose code is in the tarball: the packages of the linked archives and of the bundled libraries.
package_of() {
    dpkg-query -S "$(realpath "$1")" 2>/dev/null || dpkg-query -S "$1" 2>/dev/null
}
licence() {
    local package
    package=$(package_of "$1" | head -n 1 | cut -d: -f1) || true
    [ -z "$package" ] || [ ! -e "/usr/share/doc/$package/copyright" ] ||
        cp "/usr/share/doc/$package/copyright" "$top/licenses/$package.txt"
}
ninja -C "$build" -t commands gpufeed | tail -n 1 | grep -oE ' /[^ ]+/lib[a-z0-9]+\.a' | sort -u |
    while read -r archive; do licence "$archive"; done
bundled=
while read -r soname path; do
    if [[ $soname =~ $glibc ]] || [ -z "$path" ]; then
        continue
    fi
    install -m 644 "$path" "$top/lib/gpufeed/$soname"
    licence "$path"
    bundled+=" $soname"
done < <(ldd "$top/bin/gpufeed" | awk '{print $1, ($2 == "=>" ? $3 : "")}')
rmdir --ignore-fail-on-non-empty "$top/licenses"

# Try it: another folder, nothing in the environment, no library of ours on the loader's path.
moved=$stage/moved/$name
mkdir -p "$stage/moved"
mkdir -p "$out"
tar -C "$stage" --sort=name --owner=0 --group=0 --numeric-owner \
    --mtime="@${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}" \
    -czf "$stage/$name.tar.gz" "$name"
tar -C "$stage/moved" -xzf "$stage/$name.tar.gz"
rm -rf "$top"
tools/try-installed.sh "$moved" >/dev/null
mv "$stage/$name.tar.gz" "$out/"

needs=$(objdump -T "$moved/bin/gpufeed" "$moved"/lib/gpufeed/*.so* "$moved"/lib/gpufeed/sim/*.so* |
    grep -oE 'GLIBC_[0-9.]+' | sort -Vu | tail -n 1)
echo "$out/$name.tar.gz: $(du -h "$out/$name.tar.gz" | cut -f1), needs glibc ${needs#GLIBC_} or newer${bundled:+, carries$bundled}"
