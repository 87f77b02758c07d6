# SPDX-License-Identifier: MIT
"""What a verb accepts, what its --help says, the man page and the completions are the same."""
import os
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
GPUFEED = os.environ.get("GPUFEED", str(ROOT / "build/gpufeed"))
BASH = ROOT / "packaging/completions/gpufeed.bash"
ZSH = ROOT / "packaging/completions/_gpufeed"
MAN = ROOT / "doc/gpufeed.1"
README = ROOT / "README.md"


def out(*argv, **more):
    return subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          timeout=30, **more).stdout


def verbs():
    head = out(GPUFEED, "--help").split("examples:", maxsplit=1)[0]
    return re.findall(r"^  ([a-z-]+) +\S", head, re.M)


def split(text):
    """'-p, --pid PID' -> {'-p': 'PID', '--pid': 'PID'}; the value of --simulate[=N] is '[=N]'."""
    found = re.findall(r"(?<![\w-])(--?[a-z][a-z-]*)(\[=[A-Z]+\]| [A-Z]+)?(?=,|$)", text)
    options = {name: value.strip() for name, value in found}
    longs = [name for name in options if name.startswith("--")]
    for name in options:
        if not name.startswith("--") and not options[name]:
            options[name] = options[longs[0]]
    return options


def in_help(verb):
    options = {}
    for line in out(GPUFEED, verb, "--help").splitlines():
        if re.match(r" +-", line):
            options.update(split(re.split(r" {2,}", line.strip())[0].rstrip(",")))
    return options


def in_source(verb):
    """The rows of getopt_long, those that verbs share too; --help is every verb's."""
    wants = {"no": "", "required": "X", "optional": "[=X]"}
    row = re.compile(r'\{\s*"([a-z-]+)", (no|required|optional)_argument, NULL, (\'(\w)\')?')
    text = (ROOT / f"src/cmd/{verb}.c").read_text(encoding="utf-8")
    options = {}
    for macro, header in (("LIVE_OPTIONS", "options.h"), ("SHOW_OPTIONS", "show.h")):
        if macro in text:
            source = (ROOT / "src/cmd" / header).read_text(encoding="utf-8")
            text += source.replace("\\\n", "")
    for name, kind, _, short in row.findall(text):
        options["--" + name] = wants[kind]
        if short:
            options["-" + short] = wants[kind]
    for name in ("--help", "-h"):
        options.pop(name, None)
    return options


def in_man():
    """{verb: options} of the section VERBS."""
    text = MAN.read_text(encoding="utf-8").split(".SH VERBS", 1)[1].split("\n.SH", 1)[0]
    found = {}
    for part in text.split("\n.SS ")[1:]:
        verb, body = part.split("\n", 1)
        options = {}
        for tag in re.findall(r"^\.TP\n(.*)$", body, re.M):
            plain = re.sub(r"\\f[A-Z]", "", tag).replace(r"\-", "-")
            macro, plain = plain.split(" ", 1)
            plain = plain.replace('"', "").replace(" [ =N ]", "[=N]")
            assert macro in (".B", ".BI", ".BR"), tag
            options.update(split(re.sub(r" +", " ", plain).replace(" ,", ",")))
        found[verb] = options
    return found


def kind(options):
    """Names of values aside: does it want one, may it have one?"""
    return {name: "[=X]" if value.startswith("[") else "X" if value else ""
            for name, value in options.items()}


def bash(script):
    return out("bash", "--norc", "-c", f'. "{BASH}"\n{script}').split()


def completed(*words):
    """What bash offers for the last of the words."""
    quoted = " ".join(f"'{w}'" for w in (GPUFEED, *words))
    return bash(f"COMP_WORDS=({quoted}); COMP_CWORD={len(words)}; _gpufeed\n"
                'printf "%s\\n" "${COMPREPLY[@]}"')


def test_there_are_verbs_and_all_are_in_the_man_page():
    assert {"run", "record", "report", "diff", "check"} <= set(verbs())
    assert sorted(in_man()) == sorted(verbs())


@pytest.mark.parametrize("verb", verbs())
def test_help_lists_what_is_accepted(verb):
    assert kind(in_help(verb)) == in_source(verb)


@pytest.mark.parametrize("verb", verbs())
def test_man_page_lists_what_help_lists(verb):
    assert in_man()[verb] == in_help(verb)


@pytest.mark.parametrize("verb", verbs())
def test_bash_completes_what_help_lists(verb):
    assert sorted(completed(verb, "-")) == sorted([*in_help(verb), "--help"])


@pytest.mark.parametrize("verb", verbs())
def test_zsh_completes_what_help_lists(verb):
    if not shutil.which("zsh"):
        pytest.skip("zsh is not installed")
    specs = out("zsh", "-fc", f'. "{ZSH}"; specs=(); _gpufeed_specs "{GPUFEED}" {verb}; '
                              "print -rl -- $specs").splitlines()
    options = {}
    for spec in specs:
        name, optional, value = re.fullmatch(r"(--?[a-z-]+?)(=-)?(?:\[[^]]*\])?(:.*)?", spec).groups()
        options[name] = "[=X]" if optional else "X" if value else ""
    assert options == {**kind(in_help(verb)), "--help": ""}


def test_bash_completes_verbs_values_and_files(tmp_path):
    (tmp_path / "a.gpufeed").touch()
    (tmp_path / "b.txt").touch()
    (tmp_path / "sub").mkdir()
    assert sorted(completed("")) == sorted([*verbs(), "--help", "--version"])
    assert completed("run", "--fail-on", "w") == ["warning"]
    assert completed("run", "--fail-on", "critical", "--ht") == ["--html"]
    assert completed("report", "--currency", "U") == ["USD"]
    assert str(os.getpid()) in completed("record", "-p", str(os.getpid()))
    # what other tools recorded, archives of machines and data may have any name
    every = [f"{tmp_path}/{n}" for n in ("a.gpufeed", "b.txt", "sub")]
    for words in (["report"], ["diff"], ["diff", "a.gpufeed"], ["check", "--root"], ["check", "--data"]):
        assert sorted(completed(*words, f"{tmp_path}/")) == every, words
    for verb in ("check", "record"): # they take options alone
        assert completed(verb, f"{tmp_path}/") == [], verb
    assert completed("report", "--html", f"{tmp_path}/b") == [f"{tmp_path}/b.txt"]
    assert completed("report", "--rules", f"{tmp_path}/") == [f"{tmp_path}/sub"]


def test_bash_leaves_the_command_of_run_alone(tmp_path):
    (tmp_path / "data").touch()
    assert "--html" not in completed("run", "--", "cat", "-")
    assert "--html" not in completed("run", "-o", "x.gpufeed", "cat", "--h")
    assert completed("run", "-o", "x.gpufeed", "cat", f"{tmp_path}/d") == [f"{tmp_path}/data"]
    assert "--html" in completed("run", "-o", "--", "--ht")


def test_levels_of_the_completion_are_those_of_the_program():
    for level in completed("report", "--fail-on", ""):
        done = subprocess.run([GPUFEED, "report", "--fail-on", level, "/nonexistent"],
                              stderr=subprocess.PIPE, text=True, check=False)
        assert "--fail-on" not in done.stderr


def test_man_page_has_the_version_and_no_faults():
    version = out(GPUFEED, "--version").split()[1]
    assert f'"gpufeed {version}"' in MAN.read_text(encoding="utf-8").split("\n.SH", 1)[0]
    if shutil.which("mandoc"):
        assert out("mandoc", "-T", "lint", "-W", "style", str(MAN)) == ""
    elif shutil.which("man"):
        done = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", str(MAN)],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=True)
        assert done.stderr == ""
    else:
        pytest.skip("neither mandoc nor man is installed")


def test_examples_of_man_page_and_readme_use_options_that_exist():
    for path in (MAN, README):
        text = path.read_text(encoding="utf-8").replace(r"\-", "-")
        calls = re.findall(r"gpufeed (run|record|report|diff|check)(?: |$)([^\n`#|]*)", text)
        assert calls, path
        for verb, rest in calls:
            own = re.split(r"(?:^| )-- |\.RI|\\f", rest)[0]
            for option in re.findall(r"(?<![\w-])--?[a-z][a-z-]*", own):
                assert option in in_help(verb) or option == "--help", f"{path.name}: {verb} {rest}"
