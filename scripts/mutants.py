#!/usr/bin/env python3
"""Writes the tables of docs/mutate.md: what becomes of the mutants of the built-in locks.

    scripts/mutants.py [PROGRAM] [LOCK ..]

PROGRAM is the lockproof that is asked (default: target/release/lockproof). With locks, only
their rows are computed, shown and not written. Everything stands between two marks of the
document; the rest of it is written by hand. The tables do not depend on the machine.
"""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCUMENT = ROOT / "docs" / "mutate.md"
BEGIN = "<!-- mutants: written by scripts/mutants.py -->\n"
END = "<!-- end of mutants -->\n"
# The lock itself has more states than a comparison may have, under most sets, or takes minutes there,
# and each of its mutants as long.
TOO_LARGE = {
    "fenced-redlock",
    "rw-hash",
    "redisson",
    "redisson-watchdog",
    "redisson-multi",
    "redisson-rw",
    "redisson-fair",
}
COLUMNS = ["mutants", "caught", "refused", "equivalent", "survive", "better", "out_of_bounds", "unknown"]


def built_in(program):
    said = subprocess.run([program, "list", "locks"], capture_output=True, text=True, check=True)
    rows = [line.split() for line in said.stdout.splitlines()]
    names = [row[0] for row in rows if row and (ROOT / "models" / f"{row[0]}.lua").exists()]
    return [name for name in names if name not in TOO_LARGE]


def found(program, lock):
    print(f"mutants of {lock}", file=sys.stderr, flush=True)
    said = subprocess.run([program, "mutate", lock, "--format", "json"], capture_output=True, text=True)
    if said.returncode not in (0, 2):
        sys.exit(f"lockproof mutate {lock} ended with {said.returncode}: {said.stderr}")
    answer = json.loads(said.stdout)
    # Whoever is stopped says so in an answer, and that is not the same on every machine.
    stopped = [row for row in answer["mutants"] if "stopped before" in row.get("reason", "")]
    if stopped:
        sys.exit(f"{lock}: {len(stopped)} mutants were not checked to the end")
    return answer


def code(text):
    text = " ".join(text.split()).replace("|", "\\|")
    return f"`{text[:59] + '…' if len(text) > 60 else text}`" if text else "nothing"


def summary(answers):
    yield "| lock | " + " | ".join(column.replace("_", " ") for column in COLUMNS) + " |"
    yield "|---" * (len(COLUMNS) + 1) + "|"
    for answer in answers:
        counts = [str(answer["summary"][column]) for column in COLUMNS]
        yield f"| `{answer['lock']}` | " + " | ".join(counts) + " |"
    sums = [str(sum(answer["summary"][column] for answer in answers)) for column in COLUMNS]
    yield "| all | " + " | ".join(sums) + " |"


def rows(answers, outcome):
    for answer in answers:
        for row in answer["mutants"]:
            if row["outcome"] == outcome:
                yield answer, row


def survivors(answers):
    yield "| lock | place | before | after |"
    yield "|---|---|---|---|"
    for answer, row in rows(answers, "survives"):
        yield f"| `{answer['lock']}` | {place(row)} | {change(row)} |"


def better(answers):
    yield "| lock | place | before | after | holds then |"
    yield "|---|---|---|---|---|"
    for answer, row in rows(answers, "better"):
        gains = {}
        for gain in row["holds"]:
            names = [one["name"] for one in gain["assumptions"]] or ["no faults"]
            gains.setdefault(gain["property"], []).append(" + ".join(names))
        told = "; ".join(f"`{name}` under {sets(of)}" for name, of in gains.items())
        yield f"| `{answer['lock']}` | {place(row)} | {change(row)} | {told} |"


def change(row):
    if row["operator"] == "order":
        return f"{code(row['source'])} | behind the next statement"
    return f"{code(row['before'])} | {code(row['after'])}"


def sets(names):
    return ", ".join(names) if len(names) <= 3 else f"{len(names)} sets"


def place(row):
    file = row["file"] if row["file"].endswith(".lua") else f"models/{row['file']}.lua"
    return f"{file}:{row['line']}"


def tables(answers):
    lines = [*summary(answers), "", "What survives:", "", *survivors(answers)]
    lines += ["", "Where nothing is worse, and something holds that the lock violates:", "", *better(answers)]
    return "\n".join(lines) + "\n"


def main():
    program, locks = (sys.argv[1:2] or ["target/release/lockproof"])[0], sys.argv[2:]
    answers = [found(program, lock) for lock in locks or built_in(program)]
    if locks:
        print(tables(answers), end="")
        return
    text = DOCUMENT.read_text()
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    DOCUMENT.write_text(before + BEGIN + "\n" + tables(answers) + "\n" + END + after)


if __name__ == "__main__":
    main()
