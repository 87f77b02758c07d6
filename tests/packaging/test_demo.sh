#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# test_demo.sh BUILD: a short `make demo`: verdict and page, and nothing left running, also when it
# is interrupted.
set -euo pipefail
tools=$(cd "$(dirname "$0")/../../tools" && pwd)
build=$1
"$tools/find-torch.sh" "$build" >/dev/null || {
    echo "skipped: no Python here has PyTorch"
    exit 77
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir tmp
export TMPDIR=$work/tmp

# Processes of that session that still run; one that ended and that nobody has collected yet does not.
left() {
    ps -o pid=,stat=,args= -s "$1" | awk '$2 !~ /^Z/' || true
}

DEMO_STEPS=12 setsid --wait "$tools/demo.sh" "$build" >out 2>&1 & session=$!
wait $session || { cat out; exit 1; }
cat out
grep -q '^Verdict: GPU 0 computed' out
grep -qE '^ +storage .* 127\.0\.0\.1:' out
grep -q '</html>' demo.html
[ -s demo.gpufeed ]

left_in_tmp() {
    ls "$TMPDIR"
}
[ -z "$(left_in_tmp)" ] || { echo "left among the temporary files: $(left_in_tmp)"; exit 1; }

rm demo.*
# What a shell starts in the background ignores Ctrl-C unless told otherwise.
DEMO_STEPS=1000 setsid env --default-signal=INT "$tools/demo.sh" "$build" >out 2>&1 & session=$!
for _ in $(seq 600); do
    [ -s demo.gpufeed ] && "$build/gpufeed" report demo.gpufeed 2>/dev/null | grep '^Verdict: GPU 0 computed' >/dev/null && break
    sleep 0.1
done
trap 'kill -KILL -- "-$session" 2>/dev/null || true; rm -rf "$work"' EXIT
kill -INT -- "-$session"
code=0
wait $session || code=$?
grep -q '^Verdict: ' out || { cat out; exit 1; }
[ "$code" = 130 ] || { echo "exit code $code after Ctrl-C"; exit 1; }
[ -z "$(left "$session")" ] || { echo "left behind: $(left "$session")"; exit 1; }
[ -z "$(left_in_tmp)" ] || { echo "left among the temporary files: $(left_in_tmp)"; exit 1; }
