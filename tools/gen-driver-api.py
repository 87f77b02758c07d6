#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Turn sim/driver_api.txt into entry points, declarations, a lookup table and argument structs."""
import re
import sys

ROW = re.compile(r"(cu\w+) (\d+) (-|ptsz|ptds|early) \((.*)\)")

ENTRY = """\
SIM_EXPORT abi_cu_result {export}({params})
{{
{pack}    struct sim_call call;
    abi_cu_result result = sim_call_enter(&call, &(struct sim_call_kind){{ABI_CBID_{export},
        "{export}", {args}, {symbol}, {thread}, {early}}});
    if (result == ABI_CU_SUCCESS)
        result = do_{name}({call});
    return sim_call_leave(&call, result);
}}

"""


def parameters(text):
    """'int *a, unsigned b' -> [('int *', 'a'), ('unsigned ', 'b')]"""
    out = []
    for cell in filter(None, (part.strip() for part in text.split(","))):
        match = re.fullmatch(r"(.*?)(\w+)", cell)
        out.append((match.group(1), match.group(2)))
    return out


def entry(name, suffix, variant, params):
    names = [param for _, param in params]
    pack = ""
    if params:
        fields = " ".join(f"{kind}{param};" for kind, param in params)
        pack = f"    struct {{ {fields} }} args = {{{', '.join(names)}}};\n"
    launches = name.startswith("cuLaunch") and "function" in names
    return ENTRY.format(
        export=name + suffix, name=name, pack=pack,
        params=", ".join(kind + param for kind, param in params) or "void",
        args="&args" if params else "NULL", symbol="function" if launches else "NULL",
        thread=int(suffix != ""), early=int(variant == "early"),
        call=", ".join(["&call"] + names))


def write_args(path, rows):
    """The arguments of each function as CUPTI shows them, for a test to compare."""
    listed = []
    with open(path, "w", encoding="utf-8") as out:
        out.write("/* Generated from sim/driver_api.txt. */\n")
        for name, _, _, text in rows:
            params = parameters(text)
            if params:
                fields = " ".join(f"{kind}{param};" for kind, param in params)
                out.write(f"struct sim_args_{name} {{ {fields} }};\n")
                listed.append(f"X({name})")
        out.write("#define SIM_ARGS(X) \\\n    " + " \\\n    ".join(listed) + "\n")


def main(source, header, code, args):
    rows = []
    for number, line in enumerate(open(source, encoding="utf-8"), 1):
        line = line.rstrip("\n")
        if not line or line.startswith("#"):
            continue
        match = ROW.fullmatch(line)
        if not match:
            sys.exit(f"{source}:{number}: want NAME SINCE VARIANT (PARAMETERS), got {line!r}")
        rows.append(match.groups())
    write_args(args, rows)
    with open(header, "w", encoding="utf-8") as out:
        out.write("/* Generated from sim/driver_api.txt. */\n")
        for name, _, _, text in rows:
            out.write(f"abi_cu_result do_{name}(struct sim_call *call{', ' + text if text else ''});\n")
    with open(code, "w", encoding="utf-8") as out:
        out.write('/* Generated from sim/driver_api.txt. */\n#include "cuda.h"\n\n')
        table = []
        for name, since, variant, text in rows:
            params = parameters(text)
            suffixes = [""] + (["_" + variant] if variant in ("ptsz", "ptds") else [])
            for suffix in suffixes:
                out.write(f"SIM_EXPORT abi_cu_result {name}{suffix}("
                          f"{', '.join(k + p for k, p in params) or 'void'});\n")
                out.write(entry(name, suffix, variant, params))
            base = re.sub(r"_v\d$", "", name)
            table.append(f'    {{"{name}", "{base}", {since}, (void (*)(void)){name}, '
                         f'(void (*)(void)){name}{suffixes[-1]}}},\n')
        out.write("const struct sim_proc sim_procs[] = {\n" + "".join(table) + "};\n")
        out.write(f"const size_t sim_proc_count = {len(rows)};\n")


main(*sys.argv[1:])
