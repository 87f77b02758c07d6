# SPDX-License-Identifier: MIT
"""tools/embed.py: what the compiler reads back is what the file held."""
import pathlib
import subprocess
import sys

EMBED = pathlib.Path(__file__).parents[2] / "tools/embed.py"


def embed(*arguments):
    return subprocess.run([sys.executable, EMBED, *map(str, arguments)], capture_output=True,
                          timeout=20)


def test_bytes_survive(tmp_path):
    texts = {
        "tricky": b'a"b\\c??=\n\t\xe2\x82\xac\x01' + b"7 \\n no\r\nlast line without an end",
        "bytes": bytes(range(1, 256)),
        "empty": b"",
        "lines": b"\n\n\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_bytes(text)
    header = tmp_path / "made.h"
    assert embed(header, *[f"{n}={tmp_path / n}" for n in texts]).returncode == 0
    writes = "".join(f"fwrite({n}, 1, sizeof({n}) - 1, stdout);" for n in texts)
    (tmp_path / "main.c").write_text(
        f'#include "made.h"\n#include <stdio.h>\nint main(void) {{ {writes} return 0; }}\n')
    subprocess.run(["cc", "-Wall", "-Werror", "-o", tmp_path / "main", tmp_path / "main.c"],
                   check=True, timeout=30)
    assert subprocess.run([tmp_path / "main"], capture_output=True).stdout == b"".join(
        texts.values())


def test_bad_input_is_refused(tmp_path):
    (tmp_path / "nul").write_bytes(b"a\0b")
    for pair in (f"x={tmp_path / 'nul'}", "no-name", "9x=/dev/null", "x=", "x-y=/dev/null"):
        out = embed(tmp_path / "out.h", pair)
        assert out.returncode != 0 and out.stderr
        assert not (tmp_path / "out.h").exists()
