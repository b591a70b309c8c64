#!/usr/bin/env python3
"""Compares lockproof's verdicts with those of independent models, checked by SPIN.

    run.py [--lockproof PROGRAM] [--update] [LOCK..]

Each NAME.pml here models one built-in lock. SPIN searches it breadth first, under each set of
faults, once for each of the model's two kinds of time and two time-outs. Then each property's
verdict is compared with reports/baseline.toml and with what PROGRAM says, and the length of
the shortest violation with that of its trace, in moves. Any difference is an error, and so is a
search that SPIN did not complete.

    --lockproof PROGRAM   the program to ask; target/debug/lockproof if not said
    --update              write the table of README.md anew
    LOCK..                these locks only
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from array import array

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent

# The numbers by which a model names them, and the ones that are asked of the graph of moves.
PROPERTIES = [
    "mutual-exclusion-belief",
    "mutual-exclusion-validity",
    "mutual-exclusion-effect",
    "owner-only-release",
    "lease",
    "no-orphan",
    "honest-outcome",
    "read-write-exclusion",
    "reentrancy",
]
BRANCHING = ["deadlock-freedom", "release-frees", "fault-tolerance"]

# A fault's name, the model's parameter for its budget, and whether it holds messages up: such
# a set is searched with two time-outs.
FAULTS = {
    "client-crash": ("CRASH", False),
    "client-pause": ("PAUSE", True),
    "overrun": ("OVERRUN", False),
    "delay": ("DELAY", True),
    "loss": ("LOSS", False),
    "node-restart-none": ("RESTART", False),
    "node-flush": ("FLUSH", False),
    "failover": ("FAILOVER", False),
    "client-drift": ("DRIFT", False),
}
SIMPLE = [
    "none",
    "client-crash",
    "client-pause",
    "overrun",
    "loss",
    "node-restart-none",
    "node-flush",
    "failover",
    "client-drift",
]
MEMORY_MB = 4000


class Lock:
    """A model, and what is asked of it."""

    def __init__(self, sets, branching=True, mutants=()):
        self.sets = sets
        self.branching = branching
        # Errors planted in the model: a text of it, another in its place, and the set of faults
        # under which SPIN must then say something else than lockproof.
        self.mutants = mutants


LOCKS = {
    "exists-set": Lock(SIMPLE),
    "setnx-del": Lock(SIMPLE),
    "setnx-expire": Lock(SIMPLE + ["delay"]),
    "set-nx-px": Lock(SIMPLE + ["delay"]),
    "token-get-del": Lock(SIMPLE),
    "token": Lock(
        SIMPLE + ["delay"],
        # The release does not compare; the key is taken though it is there.
        mutants=[
            ("kown[0] == (c) + 1 && kval[0] == a -> key_del", "kown[0] != 0 -> key_del", "client-pause"),
            ("cmd == SET_NX_PX && kown[0] == 0", "cmd == SET_NX_PX", "none"),
        ],
    ),
    "token-renewed": Lock(SIMPLE + ["delay"]),
    "reentrant-hash": Lock(SIMPLE),
    "rw-two-keys": Lock(SIMPLE),
    "redlock": Lock(
        ["none", "client-crash", "overrun", "node-restart-none", "node-flush", "loss", "client-drift"], branching=False
    ),
}


class Failed(Exception):
    """Something that makes the whole comparison worthless."""


def build(name, folder, mutant=None):
    """Compiles a lock's model, or a mutant of it (a text, and what stands in its place); returns
    the program."""
    home = folder / (name if mutant is None else f"{name}-mutant-{abs(hash(mutant))}")
    home.mkdir()
    for part in HERE.glob("*.pml"):
        shutil.copy(part, home)
    if mutant is not None:
        path = home / f"{name}.pml"
        text = path.read_text()
        if text.count(mutant[0]) != 1:
            raise Failed(f"{name}.pml does not have {mutant[0]!r} once: the planted error has no place")
        path.write_text(text.replace(*mutant))
    run(["spin", "-a", f"{name}.pml"], home, "syntax error|^spin: .*error")
    flags = ["-O1", "-w", "-DBFS", "-DNOREDUCE", "-DSAFETY", f"-DMEMLIM={MEMORY_MB}"]
    run(["gcc", *flags, "-o", "pan", "pan.c"], home)
    return home / "pan"


def run(command, home, bad=None):
    done = subprocess.run(command, cwd=home, capture_output=True, text=True)
    said = done.stdout + done.stderr
    if done.returncode != 0 or (bad and re.search(bad, said, re.M)):
        raise Failed(f"{' '.join(command)} failed:\n{said[-2000:]}")
    return said


def search(program, name, faults, life, patience, branching):
    """One search of SPIN: the moves of the shortest violation of each violated property, and
    how many states there are."""
    graph = program.parent / f"{'+'.join(faults) or 'none'}-{life}-{patience}.graph"
    environment = {**os.environ, "LIFE": str(life), "PATIENCE": str(patience)}
    for fault in faults:
        environment[FAULTS[fault][0]] = "1"
    if branching:
        environment["GRAPH"] = str(graph)
    # -E: that nothing more can happen (all clients are dead) is no error.
    done = subprocess.run(
        [str(program), "-w20", "-E"], cwd=program.parent, capture_output=True, text=True, env=environment
    )
    said = done.stdout + done.stderr
    where = f"{name} under {'+'.join(faults) or 'no faults'}"
    errors = re.search(r"errors: (\d+)", said)
    states = re.search(r"^\s*(\d+) states, stored", said, re.M)
    bad = re.search(
        r"assertion violated|not completed|out of memory|too small|truncated|reached -DMEMLIM|hash-?compact|aborting",
        said,
    )
    full = "Full statespace search" in said
    if done.returncode != 0 or not errors or errors[1] != "0" or not states or bad or not full:
        raise Failed(f"SPIN's search of {where} is not complete:\n{said[-2000:]}")
    found = {
        PROPERTIES[int(number)]: int(moves)
        for number, moves in re.findall(r"^VIOLATED (\d+) MOVES (\d+)$", said, re.M)
    }
    if branching:
        clients = int(re.search(r"#define CLIENTS\s+(\d+)", (program.parent / f"{name}.pml").read_text())[1])
        rows = array("Q")
        with open(graph, "rb") as file:
            rows.frombytes(file.read())
        graph.unlink()
        # The first state, before the parameters are read, is SPIN's alone.
        found |= Graph(rows, clients, int(states[1]) - 1, where).judge()
    return found, int(states[1]) - 1


# What a model notes of a move, and of the state after it.
FAULT, SUCCESS, TICK, IN_VAIN, RELEASED, READING = (1 << bit for bit in range(6))
ASKED = 1 << 10


class Graph:
    """All moves between all states: for the questions that ask for a path from each of them.
    SPIN has found them; here is only the walk over them."""

    def __init__(self, rows, clients, states, where):
        self.clients = clients
        names = {}
        self.first = names.setdefault(rows[0], 0)
        self.after = []
        moves = []
        for at in range(0, len(rows), 3):
            before = names.setdefault(rows[at], len(names))
            after = names.setdefault(rows[at + 1], len(names))
            moves.append((before, after, rows[at + 2]))
        if len(names) != states:
            raise Failed(f"{where}: SPIN stored {states} states, but its moves lead to {len(names)}")
        self.moves = moves[1:]
        self.dead = [0] * states
        self.forth = [[] for _ in range(states)]
        self.back = [[] for _ in range(states)]
        for before, after, kind in moves[1:]:
            self.forth[before].append((after, kind))
            if not kind & FAULT:
                self.back[after].append((before, kind))
            self.dead[after] = kind >> 16
        self.depth = self.distances()

    def distances(self):
        depth = [-1] * len(self.forth)
        depth[self.first] = 0
        level = [self.first]
        while level:
            below = []
            for state in level:
                for after, _ in self.forth[state]:
                    if depth[after] < 0:
                        depth[after] = depth[state] + 1
                        below.append(after)
            level = below
        return depth

    def judge(self):
        found = {}
        stuck = self.stuck()
        if stuck:
            found["deadlock-freedom"] = stuck
        kept = self.not_freed()
        if kept:
            found["release-frees"] = kept
        return found

    def stuck(self):
        """Moves to the first state from which nobody can acquire, and then of an attempt of
        each client, one after the other."""
        live = bytearray(len(self.forth))
        todo = [before for before, _, kind in self.moves if kind & SUCCESS and not kind & FAULT]
        while todo:
            state = todo.pop()
            if not live[state]:
                live[state] = 1
                todo.extend(before for before, _ in self.back[state] if not live[before])
        everybody = (1 << self.clients) - 1
        dead = [
            state
            for state in range(len(live))
            if not live[state] and self.dead[state] != everybody
        ]
        if not dead:
            return None
        least = min(self.depth[state] for state in dead)
        return min(
            least + self.attempts(state, client=0) for state in dead if self.depth[state] == least
        )

    def attempts(self, state, client):
        """The fewest moves in which this client and those after it try in vain."""
        if client == self.clients:
            return 0
        if self.dead[state] >> client & 1:
            return self.attempts(state, client + 1)
        seen = {state}
        level = [state]
        moves = 1
        while level:
            below, ends = [], []
            for at in level:
                for after, kind in self.forth[at]:
                    if kind & (FAULT | READING):
                        continue
                    if kind & IN_VAIN and kind >> 8 & 3 == client:
                        ends.append(after)
                    if after not in seen:
                        seen.add(after)
                        below.append(after)
            if ends:
                return moves + min(self.attempts(end, client + 1) for end in ends)
            level = below
            moves += 1
        return self.attempts(state, client + 1)

    def not_freed(self):
        """Moves to the first release after which nobody else can acquire within the lease."""
        asked = {}
        for before, after, kind in self.moves:
            if kind & RELEASED and kind & ASKED:
                key = (after, kind >> 8 & 3)
                asked[key] = min(self.depth[before] + 1, asked.get(key, self.depth[before] + 1))
        bad = [
            moves
            for (state, owner), moves in asked.items()
            if not any(self.acquires(state, other) for other in range(self.clients) if other != owner)
        ]
        return min(bad, default=None)

    def acquires(self, state, client):
        """Can this client acquire within less than the lease (three ticks), without a fault?"""
        level = {state}
        seen = set()
        for _ in range(3):
            later = set()
            todo = list(level)
            while todo:
                at = todo.pop()
                if at in seen:
                    continue
                seen.add(at)
                for after, kind in self.forth[at]:
                    if kind & FAULT:
                        continue
                    if kind & SUCCESS and kind >> 8 & 3 == client:
                        return True
                    (later.add if kind & TICK else todo.append)(after)
            level = later
        return False


def moves_of(trace):
    """How many moves of the model a trace of lockproof has: what it sends and how an
    operation ends are parts of the move before, and so is a reply that nobody reads; a lag of
    a replica is told, not done."""
    count, drifted = 0, False
    for step in trace["steps"]:
        event = step["event"]
        fault = event.get("fault", {})
        kind = fault.get("fault", event["kind"])
        if kind in ("send", "outcome", "replica-lags") or kind == "client-pause" and fault.get("held"):
            continue
        if kind == "deliver" and event["ignored"]:
            continue
        if kind == "tick" and drifted:
            drifted = False
            continue
        drifted = kind == "client-drift"
        count += 1
    return count


def published(name, faults):
    """The verdicts of reports/baseline.toml."""
    for cell in BASELINE["run"]:
        switches = [(switch["name"], switch["budget"]) for switch in cell["assumptions"]]
        sizes = {switch["size"] for switch in cell["assumptions"] if switch["name"] == "failover"}
        if cell["lock"] == name and switches == [(fault, 1) for fault in faults] and sizes <= {1}:
            if cell["clients"] == 2 and cell["ttl_ticks"] == 3 and cell["nodes"] in (1, 3):
                return cell["verdicts"]
    return None


def asked(program, name, faults):
    """What lockproof says now: verdicts, and moves of the traces."""
    command = [program, "check", name, "--assume", ",".join(faults) or "none", "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True)
    try:
        results = json.loads(done.stdout)["results"]
    except (ValueError, KeyError):
        raise Failed(f"{' '.join(command)} gave no result:\n{done.stderr[-2000:]}") from None
    return {
        result["property"]: (result["verdict"], moves_of(result["trace"]) if "trace" in result else None)
        for result in results
    }


def spin_says(program, name, faults):
    """The fewest moves of each violated property over all searches, and the states of all."""
    patiences = [1]
    if any(FAULTS[fault][1] for fault in faults):
        patiences.append(4)
    found, states = {}, 0
    for life in (3, 4):
        for patience in patiences:
            one, stored = search(program, name, faults, life, patience, LOCKS[name].branching)
            states += stored
            for prop, moves in one.items():
                found[prop] = min(moves, found.get(prop, moves))
    return found, states


def unnoticed(program, folder, names):
    """The errors planted in models that make no difference."""
    missed, count = [], 0
    for name in names:
        for *mutant, faults in LOCKS[name].mutants:
            wrong = build(name, folder, tuple(mutant))
            split = [] if faults == "none" else faults.split("+")
            spin, _ = spin_says(wrong, name, split)
            _, differences = compare(name, faults, spin, asked(program, name, split))
            count += 1
            if not differences:
                missed.append(f"{name} with {mutant[1]!r} agrees with lockproof under {faults}")
    return missed, count


def word(moves):
    return "holds" if moves is None else f"violated, {moves}"


def compare(name, names, spin, ours):
    """The rows of one lock under one set, and what differs."""
    faults = [] if names == "none" else names.split("+")
    wanted = published(name, faults)
    rows, differences = [], []
    for prop, (verdict, moves) in ours.items():
        if prop in BRANCHING and not LOCKS[name].branching:
            continue
        here = spin.get(prop)
        where = f"{name}, {names}, {prop}"
        if verdict != ("holds" if here is None else "violated"):
            differences.append(f"{where}: lockproof says {verdict}, SPIN {word(here)}")
        elif here != moves:
            differences.append(f"{where}: lockproof's trace has {moves} moves, SPIN's {here}")
        if wanted and wanted.get(prop) != verdict:
            differences.append(f"{where}: published is {wanted.get(prop)}, lockproof says {verdict}")
        rows.append((prop, word(moves) if verdict == "violated" else verdict, word(here)))
    return rows, differences


def table(results):
    """The table of README.md."""
    lines = [
        "| lock | faults | property | lockproof | SPIN |",
        "|---|---|---|---|---|",
    ]
    for name, names, rows in results:
        alike = [prop for prop, ours, theirs in rows if ours == theirs == "holds"]
        if alike:
            lines.append(f"| {name} | {names} | {', '.join(alike)} | holds | holds |")
        lines += [
            f"| {name} | {names} | {prop} | {ours} | {theirs} |"
            for prop, ours, theirs in rows
            if prop not in alike
        ]
    return "\n".join(lines) + "\n"


BEGIN, END = "<!-- table -->\n", "<!-- end of table -->\n"


def update(text):
    readme = HERE / "README.md"
    old = readme.read_text()
    head, rest = old.split(BEGIN)
    tail = rest.split(END)[1]
    readme.write_text(head + BEGIN + text + END + tail)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--lockproof", default=str(ROOT / "target/debug/lockproof"))
    parser.add_argument("--update", action="store_true")
    parser.add_argument("lock", nargs="*")
    arguments = parser.parse_args()
    names = arguments.lock or list(LOCKS)
    for name in names:
        if name not in LOCKS:
            parser.error(f"there is no model of {name}; there are {', '.join(LOCKS)}")
    results, differences, states = [], [], 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        with concurrent.futures.ProcessPoolExecutor(os.cpu_count()) as pool:
            programs = dict(zip(names, pool.map(build, names, [folder] * len(names))))
            cases = [(name, faults) for name in names for faults in LOCKS[name].sets]
            split = [[] if faults == "none" else faults.split("+") for _, faults in cases]
            owners = [name for name, _ in cases]
            spins = pool.map(spin_says, [programs[name] for name in owners], owners, split)
            answers = pool.map(asked, [arguments.lockproof] * len(cases), owners, split)
            for (name, faults), (spin, stored), ours in zip(cases, spins, answers):
                rows, differ = compare(name, faults, spin, ours)
                results.append((name, faults, rows))
                differences += differ
                states += stored
                print(f"{name:20} {faults:20} {len(rows)} properties, {stored} states", flush=True)
        missed, planted = unnoticed(arguments.lockproof, folder, names)
    for line in differences:
        print(f"DIFFERS: {line}", file=sys.stderr)
    for line in missed:
        print(f"UNNOTICED: {line}", file=sys.stderr)
    cells = sum(len(rows) for _, _, rows in results)
    violated = sum(ours != "holds" for _, _, rows in results for _, ours, _ in rows)
    print(f"{cells} verdicts of {len(names)} locks compared, {violated} of them violated; {states} states of SPIN's")
    print(f"{planted - len(missed)} of {planted} errors that were planted in the models are noticed")
    if arguments.update:
        update(table(results))
    return 1 if differences or missed else 0


BASELINE = tomllib.loads((ROOT / "reports/baseline.toml").read_text())

if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failed as failure:
        print(f"FAILED: {failure}", file=sys.stderr)
        sys.exit(1)
