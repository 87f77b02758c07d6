#!/bin/sh
# SPDX-License-Identifier: MIT
# screenshot.sh PAGE.html OUT.png [WIDTH] [HEIGHT] [dark]: a picture of a report with headless Chromium.
# doc/report.png of the README: gpufeed report job.gpufeed --html page.html; screenshot.sh page.html doc/report.png
set -eu
if [ $# -lt 2 ]; then
    sed -n '3,4s/^# //p' "$0" >&2
    exit 2
fi
page=$(realpath "$1")
out=$2
width=${3:-1280}
height=${4:-1500}
scheme=1
[ "${5:-}" = dark ] && scheme=0
for browser in chromium chromium-browser google-chrome; do
    command -v "$browser" >/dev/null && break
done
command -v "$browser" >/dev/null || { echo "screenshot.sh: no Chromium found; apt-get install chromium" >&2; exit 1; }
profile=$(mktemp -d)
trap 'rm -rf "$profile"' EXIT
timeout 60 "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$profile" \
    --blink-settings=preferredColorScheme=$scheme --window-size="$width,$height" \
    --screenshot="$out" "file://$page" >/dev/null 2>&1
[ -s "$out" ] || { echo "screenshot.sh: Chromium made no picture of $1" >&2; exit 1; }
