#!/usr/bin/env python3
"""Checks that every dependency may be shipped under MIT OR Apache-2.0.

    scripts/licences.py           the check
    scripts/licences.py --texts   the licences of what is inside the program, with their texts

What is allowed stands in deny.toml, which cargo-deny reads as well. This
script needs no tool beyond cargo and Python, so CI can always run it; it
checks licences and sources, which is what can change with a new dependency.
"""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def allowed(expression, permitted):
    """Whether an SPDX expression can be met with the permitted licences."""
    # Old manifests write `MIT/Apache-2.0`; it always meant a choice.
    tokens = re.findall(r"\(|\)|[^\s()]+", expression.replace("/", " OR "))

    def choice():
        met = both()
        while tokens and tokens[0] == "OR":
            tokens.pop(0)
            # Both sides are parsed whatever the first one said.
            met = both() or met
        return met

    def both():
        met = one()
        while tokens and tokens[0] == "AND":
            tokens.pop(0)
            met = one() and met
        return met

    def one():
        token = tokens.pop(0)
        if token == "(":
            met = choice()
            tokens.pop(0)
            return met
        if tokens and tokens[0] == "WITH":
            tokens.pop(0)
            token = f"{token} WITH {tokens.pop(0)}"
        return token in permitted

    met = choice()
    return met and not tokens


def claims():
    """A check that lets everything through would be green for ever."""
    mine = {"MIT", "Unicode-3.0"}
    for expression, expected in [
        ("MIT", True),
        ("GPL-3.0-only", False),
        ("GPL-3.0-only OR MIT", True),
        ("MIT AND GPL-3.0-only", False),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", True),
        ("(MIT OR Apache-2.0) AND OpenSSL", False),
        ("Unlicense/MIT", True),
        ("Apache-2.0 WITH LLVM-exception", False),
    ]:
        assert allowed(expression, mine) is expected, expression


def metadata():
    version = subprocess.run(["rustc", "-vV"], check=True, capture_output=True, text=True)
    host = re.search(r"^host: (.*)$", version.stdout, re.MULTILINE).group(1)
    # Without the filter cargo would download what only other systems need.
    command = ["cargo", "metadata", "--locked", "--format-version=1", "--filter-platform", host]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, cwd=ROOT).stdout)


def inside(found):
    """The packages of the program: without what only builds and tests it."""
    of = {node["id"]: node for node in found["resolve"]["nodes"]}
    reached, next_ones = set(), [package["id"] for package in found["packages"] if package["name"] == "lockproof"]
    while next_ones:
        one = next_ones.pop()
        if one not in reached:
            reached.add(one)
            for needed in of[one]["deps"]:
                if any(kind["kind"] is None for kind in needed["dep_kinds"]):
                    next_ones.append(needed["pkg"])
    return [package for package in found["packages"] if package["id"] in reached]


def texts():
    """Who passes a program on passes on the licences of what is in it."""
    print("What is inside lockproof beside its own code, and under which licences.")
    theirs = [package for package in inside(metadata()) if package["source"] is not None]
    names_of = {}
    for package in sorted(theirs, key=lambda package: (package["name"], package["version"])):
        name = f"{package['name']} {package['version']} ({package['license']})"
        folder = Path(package["manifest_path"]).parent
        files = [path for path in folder.iterdir() if path.is_file() and re.match("(?i)licen[cs]e|copying|notice|unlicense", path.name)]
        print(f"  {name}" + ("" if files else ": it comes without the text"))
        for path in files:
            names_of.setdefault(path.read_text(errors="replace").strip(), set()).add(name)
    for text, names in sorted(names_of.items(), key=lambda both: (sorted(both[1]), both[0])):
        print(f"\n{'-' * 80}\n" + "\n".join(sorted(names)) + f"\n\n{text}")


def main():
    if sys.argv[1:] == ["--texts"]:
        return texts()
    if sys.argv[1:]:
        print(__doc__, file=sys.stderr)
        return 64
    claims()
    deny = tomllib.loads((ROOT / "deny.toml").read_text())
    permitted = set(deny["licenses"]["allow"])
    registries = {f"registry+{url}" for url in deny["sources"]["allow-registry"]}
    wrong = []
    found = metadata()["packages"]
    for package in found:
        name = f"{package['name']} {package['version']}"
        if not allowed(package["license"] or "none", permitted):
            wrong.append(f"{name}: its licence is {package['license']}; see deny.toml")
        if package["source"] is not None and package["source"] not in registries:
            wrong.append(f"{name}: it comes from {package['source']}; see deny.toml")
    print("\n".join(wrong) or f"{len(found)} packages, every licence is allowed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
