# SPDX-License-Identifier: MIT
"""The faces against each other and against what they promise.

GPUFEED_RENDER: the report-render program. UPDATE_GOLDEN=1 rewrites the golden files.
"""
import html.parser
import json
import os
import pathlib
import re
import shutil
import subprocess

import jsonschema
import pytest

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent
RENDER = os.environ["GPUFEED_RENDER"]
VIEWS = ["healthy", "starving", "two", "many", "unknown", "cut", "hostile", "empty", "fed"]
DIFFS = ["starving..fed", "fed..starving", "healthy..empty", "empty..empty", "many..two",
         "unknown..cut", "hostile..starving", "random:1..random:2", "random:8..random:5"]
RANDOM = [f"random:{seed}" for seed in range(30)]
CAUSES = dict(
    line.split("\t")[:2]
    for line in (ROOT / "data/causes.tsv").read_text().splitlines()
    if line and not line.startswith("#"))


def render(view, face, *options):
    out = subprocess.run([RENDER, view, face, *map(str, options)], capture_output=True, timeout=20)
    assert out.returncode == 0, out.stderr
    return out.stdout.decode()


def as_json(view):
    return json.loads(render(view, "json"))


# golden files

GOLDEN = ([(v, "text", ()) for v in VIEWS] + [("starving", "text", (80,)), ("many", "text", (120,)),
          ("starving", "text", ("ascii", 80)), ("starving", "text", ("colour",)),
          ("starving", "chains", ()), ("hostile", "chains", ("ascii",)), ("healthy", "chains", ())]
          + [("starving..fed", "text", ()), ("starving..fed", "text", ("ascii", 80)),
             ("starving..fed", "text", ("colour",)), ("starving..fed", "json", ()),
             ("healthy..empty", "text", ()), ("fed..starving", "text", ())]
          + [(v, "json", ()) for v in VIEWS if v != "hostile"])


@pytest.mark.parametrize("view,face,options", GOLDEN)
def test_golden(view, face, options):
    name = "-".join([view, face, *map(str, options)])
    path = HERE / "golden" / (name + (".json" if face == "json" else ".txt"))
    got = render(view, face, *options)
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(got)
    assert got == path.read_text()


# JSON

def schema_errors(document, name="report"):
    schema = json.loads((ROOT / f"doc/{name}.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return [f"{e.json_path}: {e.message[:200]}"
            for e in jsonschema.Draft202012Validator(schema).iter_errors(document)]


@pytest.mark.parametrize("view", VIEWS + RANDOM)
def test_json_follows_its_schema(view):
    assert schema_errors(as_json(view)) == []


def test_schema_knows_every_cause():
    schema = json.loads((ROOT / "doc/report.schema.json").read_text())
    assert schema["$defs"]["cause"]["enum"] == [c for c in CAUSES if c != "none"]


@pytest.mark.parametrize("spoil", [
    lambda d: d.pop("money"),
    lambda d: d.update(extra=1),
    lambda d: d["ledger"][0].update(cause="storage"),          # a compute row
    lambda d: d["ledger"][1].update(cause=None),               # a wait row
    lambda d: d["ledger"][1].update(cause="weather"),
    lambda d: d["ledger"][0].update(ns=1.5),
    lambda d: d["accelerators"][0].update(id="GPU-5c1f"),
    lambda d: d["accelerators"][0]["state"].pop("unseen"),
    lambda d: d["verdict"].update(more_accelerators_help="yes"),
    lambda d: d["verdict"].update(faster_accelerator_max_speedup=0.5),
    lambda d: d["findings"][0].update(severity="bad"),
    lambda d: d.update(schema="gpufeed.report/2"),
])
def test_schema_refuses(spoil):
    document = as_json("starving")
    spoil(document)
    assert schema_errors(document)


def test_schema_leaves_room_for_others():
    document = as_json("starving")
    document["x-site"] = {"rack": 4}
    assert schema_errors(document) == []


@pytest.mark.parametrize("view", ["healthy", "starving", "two", "many", "cut"] + RANDOM)
def test_json_rows_add_up(view):
    document = as_json(view)
    for accelerator in document["accelerators"]:
        rows = [r for r in document["ledger"] if r["accelerator"] == accelerator["id"]]
        assert sum(r["ns"] for r in rows) == round(accelerator["seconds"] * 1e9)
        assert sum(accelerator["state"].values()) == pytest.approx(1)
        for state, share in accelerator["state"].items():
            assert share == pytest.approx(sum(r["share"] for r in rows if r["state"] == state))


def test_unknown_figures_are_null():
    document = as_json("unknown")
    assert document["tool"]["cpu_seconds"] is None
    assert document["money"] == {"currency": None, "rate_per_hour": None, "spent": None,
                                 "waited": None, "by_cause": {}}
    assert document["verdict"]["limited_by"] == "unknown"
    assert document["verdict"]["more_accelerators_help"] is None
    assert document["findings"][0]["gain_seconds"] is None
    assert {r["cause"] for r in document["ledger"]} == {"unknown"}


def test_json_says_what_has_no_key_as_evidence():
    said = {e["name"]: e["value"] for e in as_json("cut")["evidence"] if e["source"] == "gpufeed"}
    assert said["cut_short"].startswith("gpufeed was killed")
    assert said["mode"] == "wait chain"
    assert "18211" in said["note"]
    bound = [e for f in as_json("starving")["findings"] for e in f["evidence"]
             if e["name"] == "gain_bound"]
    assert [e["value"] for e in bound] == ["upper"]


# titles

@pytest.mark.parametrize("width", [60, 80, 100])
@pytest.mark.parametrize("view", ["starving", "many", "cut"] + RANDOM)
def test_a_title_is_wrapped_with_its_id_and_gains_have_a_line(view, width):
    lines = render(view, "text", width).splitlines()
    for number, line in enumerate(lines):
        match = re.match(r" ?(\d+)\. (?:info|warning|critical) ", line)
        if "saves" in line:
            assert line.strip().startswith("saves "), line
        if not match:
            continue
        finding = as_json(view)["findings"][int(match[1]) - 1]
        said = " ".join(" ".join(lines[number:number + 5]).split())
        assert f"{finding['title']} [{finding['id']}]" in said, said


# text against JSON

TIME = r"(?:\d+ h \d\d min|[\d.]+ (?:ns|µs|ms|s))"
SHARE = r"[\d.]+ %"


def seconds_of(text):
    """A printed time and the error that its rounding allows."""
    hours = re.fullmatch(r"(\d+) h (\d\d) min", text)
    if hours:
        return int(hours[1]) * 3600 + int(hours[2]) * 60, 60
    number, unit = text.split(" ")
    scale = {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1}[unit]
    places = len(number.partition(".")[2])
    return float(number) * scale, 0.5001 * 10 ** -places * scale


def share_of(text):
    number = text.split(" ")[0]
    return float(number) / 100, 0.5001 * 10 ** -len(number.partition(".")[2]) / 100


def money_of(text):
    number = text.split(" ")[1]
    return float(number), 0.5001 * 10 ** -len(number.partition(".")[2])


def near(printed, value):
    number, error = printed
    return abs(number - value) <= error + 1e-12


def merged_waits(document):
    """[cause title, resource, seconds, share, money], longest first, from the ledger of the JSON."""
    total = sum(a["seconds"] for a in document["accelerators"])
    waits, causes = {}, {}
    for row in document["ledger"]:
        if row["state"] in ("wait", "comm", "copy"):
            key = row["cause"], row["resource"]
            waits[key] = waits.get(key, 0) + row["ns"]
            causes[key[0]] = causes.get(key[0], 0) + row["ns"]
    by_cause = document["money"]["by_cause"]
    return [[CAUSES[c], r, ns / 1e9, ns / 1e9 / total, by_cause.get(c, 0) * ns / causes[c]]
            for (c, r), ns in sorted(waits.items(), key=lambda item: -item[1])]


ROW = re.compile(rf"  (?P<cause>.{{18}})(?P<bar>.{{12}})(?P<resource>.*?)\s+(?:~|≤ )?(?P<time>{TIME})"
                 rf"\s+(?P<share>{SHARE})(?:\s+(?P<money>€ [\d.]+))?")


def check_rows(rows, document):
    waits = merged_waits(document)
    priced = document["money"]["currency"] is not None
    for index, row in enumerate(rows):
        cause = row["cause"].strip()
        if cause.endswith(" more"):
            rest = waits[index:]
            assert int(cause.split()[0]) == len(rest)
            want = [sum(w[k] for w in rest) for k in (2, 3, 4)]
        else:
            assert cause == waits[index][0]
            assert row["resource"].strip() == (waits[index][1] or "-")
            want = waits[index][2:]
        assert near(seconds_of(row["time"]), want[0])
        assert near(share_of(row["share"]), want[1])
        assert bool(row["money"]) == priced
        if priced:
            assert near(money_of(row["money"]), want[2])
    covered = rows and (rows[-1]["cause"].strip().endswith(" more") or len(rows) == len(waits))
    assert covered or not waits


def check_head(line, document):
    assert near(seconds_of(re.match(TIME, line)[0]), document["span_seconds"])
    assert f"{len(document['accelerators'])} × " in line
    money = re.findall(r"€ [\d.]+", line)
    want = [document["money"][k] for k in ("spent", "rate_per_hour", "waited")]
    assert len(money) == (3 if document["money"]["currency"] else 0)
    assert all(near(money_of(m), w) for m, w in zip(money, want))


def check_bar(line, document):
    """A line of one accelerator, or of several that are alike: then its shares are their mean."""
    label, compute, wait = re.fullmatch(
        rf"GPU ([\d, .-]+?)\s+\D*?({SHARE}) compute\s+(?:≤ |~)?({SHARE}) wait", line).groups()
    numbers = set()
    for part in re.findall(r"(\d+)(?:-(\d+))?", label):
        numbers |= set(range(int(part[0]), int(part[1] or part[0]) + 1))
    group = [a for a in document["accelerators"] if int(a["id"].split(":")[-1]) in numbers]
    total = sum(a["seconds"] for a in group)
    for printed, state in ((compute, "compute"), (wait, "wait")):
        assert near(share_of(printed), sum(a["state"][state] * a["seconds"] for a in group) / total)


def check_legend(line, document):
    total = sum(a["seconds"] for a in document["accelerators"])
    for state, share in re.findall(rf"(compute|comm|copy|wait|unused|unseen) (?:≤ |~)?({SHARE})", line):
        value = sum(a["state"][state] * a["seconds"] for a in document["accelerators"])
        assert near(share_of(share), value / total)


def check_unknown(line, document):
    total = sum(a["seconds"] for a in document["accelerators"])
    unknown = sum(r["seconds"] for r in document["ledger"]
                  if r["cause"] == "unknown" and r["state"] != "unseen")
    unseen = sum(r["seconds"] for r in document["ledger"] if r["state"] == "unseen")
    said = dict((k, (s, t)) for s, t, k in re.findall(
        rf"({SHARE}) \(({TIME})\) (has no known cause|was not seen)", line))
    for name, value in (("has no known cause", unknown), ("was not seen", unseen)):
        assert (name in said) == (value / total > 0.05)
        if name in said:
            assert near(share_of(said[name][0]), value / total)
            assert near(seconds_of(said[name][1]), value)
    return bool(said)


def check_gain(text, finding, document):
    match = re.search(rf"saves (at most )?({TIME}) \(({SHARE})(?:, ([\d.]+)×)?\)(?:, (€ [\d.]+)/h)?",
                      text)
    assert bool(match[1]) == any(e["name"] == "gain_bound" for e in finding["evidence"])
    assert near(seconds_of(match[2]), finding["gain_seconds"])
    assert near(share_of(match[3]), finding["gain_share"])
    if match[4]:
        assert float(match[4]) == pytest.approx(1 / (1 - finding["gain_share"]), abs=0.00501)
    if match[5]:
        assert near(money_of(match[5]), finding["gain_share"] * document["money"]["rate_per_hour"])


def check_cost(line, document):
    cpu, share = re.match(rf"gpufeed: ({TIME}) of CPU(?: \(({SHARE}) of a core\))?", line).groups()
    assert near(seconds_of(cpu), document["tool"]["cpu_seconds"])
    assert (share is not None) == (document["span_seconds"] >= 10)  # shorter: it is mostly start-up
    if share:
        assert near(share_of(share), document["tool"]["cpu_seconds"] / document["span_seconds"])
    assert "31 MiB" in line and document["tool"]["peak_rss_bytes"] == 31 << 20
    assert "no events lost" in line and document["tool"]["events_lost"] == 0


@pytest.mark.parametrize("view", RANDOM)
def test_every_number_of_the_text_is_one_of_the_json(view):
    document = as_json(view)
    rows, gains, index, said_unknown = [], 0, -1, False
    for number, line in enumerate(render(view, "text", 120).splitlines()):
        row = ROW.fullmatch(line)
        finding = re.match(r" ?(\d+)\. (info|warning|critical)", line)
        if row:
            rows.append(row)
            continue
        if finding:
            index = int(finding[1]) - 1
            assert document["findings"][index]["severity"] == finding[2]
        if "saves" in line:
            check_gain(line, document["findings"][index], document)
            gains += 1
        elif number == 1:
            check_head(line, document)
        elif line.startswith("GPU "):
            check_bar(line, document)
        elif line.startswith("! ") and "%" in line:
            said_unknown = check_unknown(line, document)
        elif line.startswith("gpufeed: "):
            check_cost(line, document)
        elif line.strip().startswith(("█", "▓", "▒", "░", "·", "?")):
            check_legend(line, document)
        elif line.startswith("Waited for,"):
            assert f", {len(document['accelerators'])} acc" in line
        elif re.search("more lines of accelerators|more: report", line):
            pass
        elif not finding:
            assert not re.search(r"\d", line), line
    check_rows(rows, document)
    if not said_unknown:
        check_unknown("", document)
    assert gains == sum(1 for f in document["findings"][:index + 1] if f["gain_seconds"])


@pytest.mark.parametrize("view", VIEWS)
def test_text_ends_with_verdict_and_own_cost(view):
    lines = render(view, "text", 100).splitlines()
    at = [i for i, line in enumerate(lines) if line.startswith("Verdict: ")]
    assert len(at) == 1
    assert any(line.startswith("gpufeed: ") for line in lines[at[0] + 1:])
    assert lines[at[0] - 1] == ""


def test_healthy_is_quiet():
    text = render("healthy", "text")
    assert "Longest wait" not in text
    assert len(text.splitlines()) < 20
    assert "The longest wait" not in render("healthy", "html")


def test_ascii_is_ascii():
    for view in VIEWS:
        render(view, "text", "ascii").encode("ascii")
        render(view, "chains", "ascii").encode("ascii")


def test_unknown_is_said_once_with_its_reason():
    text = " ".join(render("unknown", "text").split())
    assert "60 % (36 s) has no known cause and 40 % (24 s) was not seen" in text
    assert text.count("CAP_BPF") == 1


# diff

@pytest.mark.parametrize("diff", DIFFS)
def test_diff_json_follows_its_schema(diff):
    assert schema_errors(as_json(diff), "diff") == []


@pytest.mark.parametrize("spoil", [
    lambda d: d.pop("cause"),
    lambda d: d["cause"].update(weather={"before": 0, "after": 0}),
    lambda d: d["state"]["wait"].update(before=1.5),
    lambda d: d["state"]["wait"].pop("after"),
    lambda d: d["findings"][0]["severity"].update(after="info"),   # it is gone
    lambda d: d["findings"][-1]["severity"].update(before=None),   # it is kept
    lambda d: d["findings"][0].update(change="moved"),
])
def test_diff_schema_refuses(spoil):
    document = as_json("starving..fed")
    spoil(document)
    assert schema_errors(document, "diff")


@pytest.mark.parametrize("diff", ["starving..fed", "many..two", "random:1..random:2",
                                  "random:8..random:5"])
def test_diff_shares_are_those_of_the_reports(diff):
    document = as_json(diff)
    for side, view in zip(("before", "after"), diff.split("..")):
        report = as_json(view)
        total = sum(a["seconds"] for a in report["accelerators"])
        for state, share in document["state"].items():
            want = sum(a["state"][state] * a["seconds"] for a in report["accelerators"]) / total
            assert share[side] == pytest.approx(want)
        for cause, share in document["cause"].items():
            want = sum(r["seconds"] for r in report["ledger"] if r["cause"] == cause
                       and r["state"] in ("wait", "comm", "copy")) / total
            assert share[side] == pytest.approx(want)
        waits = sum(share[side] for share in document["cause"].values())
        assert waits == pytest.approx(sum(document["state"][s][side]
                                          for s in ("wait", "comm", "copy")))


@pytest.mark.parametrize("diff", [d for d in DIFFS if "hostile" not in d])
def test_every_figure_of_the_diff_text_is_one_of_the_json(diff):
    document, seen = as_json(diff), 0
    figures = dict(document["state"], took=document["span_seconds"])
    figures.update({CAUSES[c]: f for c, f in document["cause"].items()})
    names = {"an hour": "rate_per_hour", "spent": "spent", "spent on waiting": "waited"}
    figures.update({text: document["money"][key] for text, key in names.items()})
    cell = rf"({TIME}|{SHARE}|[€$] [\d.]+|unknown)"
    for line in render(diff, "text", 120).splitlines():
        row = re.fullmatch(rf"  (.*?)\s{{2,}}{cell}\s+{cell}(?:\s+(\S.*))?", line)
        if not row:
            continue
        figure = figures[row[1]]
        for printed, value in zip(row.groups()[1:3], (figure["before"], figure["after"])):
            kind = share_of if "%" in printed else money_of if printed[0] in "€$" else seconds_of
            assert value is None if printed == "unknown" else near(kind(printed), value), line
        points = re.fullmatch(r"([+-][\d.]+) points", row[4] or "")
        if points:
            places = len(points[1].partition(".")[2])
            want = (figure["after"] - figure["before"]) * 100
            assert abs(float(points[1]) - want) <= 0.5001 * 10 ** -places
        seen += 1
    assert seen >= 2


@pytest.mark.parametrize("diff", DIFFS)
def test_diff_fits_one_screen(diff):
    for width in (40, 60, 80, 100):
        lines = render(diff, "text", width).splitlines()
        assert len(lines) <= (50 if width < 60 else 40) and max(map(len, lines)) <= width
    render(diff, "text", "ascii").encode("ascii")


# HTML

VOID = {"meta", "br", "hr", "img", "input", "link"}


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.text = [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, (tag, self.open[-3:])
        self.open.pop()

    def handle_data(self, data):
        self.text.append(data)


@pytest.mark.parametrize("view", VIEWS + RANDOM[:8])
def test_html_is_whole_and_loads_nothing(view):
    text = render(view, "html")
    page = Page(text)
    names = {tag for tag, _ in page.tags}
    assert not names & {"script", "img", "link", "iframe", "object", "embed", "base", "form", "a"}
    for _, attrs in page.tags:
        assert not [a for a in attrs if a.startswith("on") or a in ("src", "href", "xlink:href")]
    policy = [a["content"] for t, a in page.tags
              if t == "meta" and a.get("http-equiv") == "Content-Security-Policy"]
    assert policy and "default-src 'none'" in policy[0] and "script" not in policy[0]
    style = text[text.index("<style>"):text.index("</style>")]
    assert set(re.findall(r"url\(([^)]*)\)", style)) <= {"#hatch"} and "@import" not in style


@pytest.mark.parametrize("view", VIEWS)
def test_html_is_accessible(view):
    page = Page(render(view, "html"))
    assert ("html", {"lang": "en"}) in page.tags
    for tag, attrs in page.tags:
        if tag == "svg":
            assert attrs.get("aria-label") or attrs.get("aria-hidden") == "true", attrs
            assert ("aria-label" in attrs) == (attrs.get("role") == "img")
    assert sum(tag == "h1" for tag, _ in page.tags) == 1


@pytest.mark.parametrize("view", RANDOM[:12])
def test_html_waits_are_those_of_the_json(view):
    text = render(view, "html").replace("&nbsp;", " ")
    table = re.search(r'<table class="waits">(.*?)</table>', text, re.S)
    waits = merged_waits(as_json(view))
    if not waits:
        assert table is None
        return
    cells = re.findall(rf'<b>([^<]*)</b>.*?class="n">(?:~|≤ )?({TIME})</td><td class="n">({SHARE})<',
                       table[1], re.S)
    assert len(cells) in (len(waits), 13)
    for (cause, time, share), want in zip(cells, waits):
        if not cause.endswith(" more"):
            assert cause == want[0]
            assert near(seconds_of(time), want[2])
            assert near(share_of(share), want[3])


CSS = (ROOT / "src/report/html/page.css").read_text()


def colours(dark):
    light_part, dark_part = CSS.split("@media (prefers-color-scheme: dark)")
    found = dict(re.findall(r"--([a-z0-9-]+): (#[0-9a-f]{6});", light_part))
    if dark:
        found.update(re.findall(r"--([a-z0-9-]+): (#[0-9a-f]{6});", dark_part))
    return found


def luminance(colour):
    parts = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a, b):
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("dark", [False, True])
def test_text_has_contrast(dark):
    found = colours(dark)
    for text in ("text", "muted", "accent", "info", "warning", "critical"):
        for surface in ("page", "card", "sunk"):
            assert contrast(found[text], found[surface]) >= 4.5, (text, surface)
    for state in ("compute", "comm", "wait"):
        assert contrast(found["s-" + state], found["card"]) >= 3, state


# Viénot, Brettel and Mollon 1999: what a person without red (protan) or green (deutan) cones sees.
SIMULATE = {
    "protan": ((0.11238, 0.88762, 0), (0.11238, 0.88762, 0), (0.00401, -0.00401, 1)),
    "deutan": ((0.29275, 0.70725, 0), (0.29275, 0.70725, 0), (-0.02234, 0.02234, 1)),
}


def seen(colour, kind):
    linear = [((int(colour[i:i + 2], 16) / 255 + 0.055) / 1.055) ** 2.4 for i in (1, 3, 5)]
    if kind:
        linear = [max(0, sum(m * v for m, v in zip(row, linear))) for row in SIMULATE[kind]]
    x = 0.4124 * linear[0] + 0.3576 * linear[1] + 0.1805 * linear[2]
    y = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    z = 0.0193 * linear[0] + 0.1192 * linear[1] + 0.9505 * linear[2]
    f = [v ** (1 / 3) if v > 0.008856 else 7.787 * v + 16 / 116
         for v in (x / 0.9505, y, z / 1.089)]
    return 116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("kind", [None, "protan", "deutan"])
def test_states_differ_for_every_eye(dark, kind):
    found = colours(dark)
    names = ["compute", "comm", "copy", "wait", "unused"]
    for i, a in enumerate(names):
        for b in names[:i]:
            one, two = seen(found["s-" + a], kind), seen(found["s-" + b], kind)
            assert sum((p - q) ** 2 for p, q in zip(one, two)) ** 0.5 > 15, (a, b)


def test_every_cause_has_a_colour():
    for dark in (False, True):
        assert all("c-" + cause in colours(dark) for cause in CAUSES if cause != "none")
    assert all(f".c-{cause} {{" in CSS for cause in CAUSES if cause != "none")


MEASURE = """<!doctype html><body><script>
const pages = PAGES, out = [];
async function look(name, text, width) {
  const f = document.createElement('iframe');
  f.style = `border:0;width:${width}px;height:900px`;
  const loaded = new Promise(done => f.onload = done);
  f.srcdoc = text; document.body.append(f); await loaded;
  const d = f.contentDocument, root = d.documentElement;
  d.querySelectorAll('details').forEach(e => e.open = true);
  if (root.scrollWidth > width) out.push(`${name} ${width}: scrolls to ${root.scrollWidth}`);
  for (const e of d.querySelectorAll('h1,h2,h3,p,li,td,th,dt,dd,b,span,pre,i,summary,svg')) {
    if (e.closest('.rows')) continue;
    const r = e.getBoundingClientRect();
    if (r.width && (r.right > width + 1 || r.left < -1))
      out.push(`${name} ${width}: <${e.tagName} class="${e.className}"> from ${r.left} to ${r.right}`);
    const inner = e.tagName != 'svg' && e.scrollWidth > e.clientWidth + 1 && e.clientWidth;
    if (inner) out.push(`${name} ${width}: <${e.tagName}> clipped: ${e.textContent.slice(0, 40)}`);
  }
  for (const axis of d.querySelectorAll('.axis')) {
    let last = -1e9;
    for (const e of axis.children) {
      const r = e.getBoundingClientRect();
      if (!r.width) continue;
      if (r.left < last + 2) out.push(`${name} ${width}: axis labels overlap at ${e.textContent}`);
      last = r.right;
    }
  }
  f.remove();
}
(async () => {
  for (const [name, text] of pages) for (const w of [360, 400, 768, 1280]) await look(name, text, w);
  document.body.textContent = 'DONE ' + JSON.stringify(out);
})();
</script>"""


def chromium():
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if shutil.which(name):
            return shutil.which(name)
    return None


@pytest.mark.skipif(not chromium(), reason="no Chromium: apt-get install chromium")
def test_layout_fits_every_width(tmp_path):
    views = VIEWS + ["random:3", "random:11"]
    pages = [[view, re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "",
                           render(view, "html"))] for view in views]
    text = json.dumps(pages).replace("</", "<\\/")
    (tmp_path / "measure.html").write_text(MEASURE.replace("PAGES", text))
    out = subprocess.run(
        [chromium(), "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1400,1000",
         f"--user-data-dir={tmp_path}/profile", "--virtual-time-budget=20000", "--dump-dom",
         f"file://{tmp_path}/measure.html"], capture_output=True, timeout=90)
    dom = out.stdout.decode(errors="replace")
    found = re.search(r"DONE (\[.*?\])</body>", dom, re.S)
    assert found, dom[-300:] + out.stderr.decode(errors="replace")[-300:]
    import html as entities
    assert json.loads(entities.unescape(found[1])) == []
