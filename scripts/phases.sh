#!/usr/bin/env bash
# Runs the phases of `make test`, each of them whatever became of the ones before, and
# tells at the end how long each took, how it ended, and which tests were left out.
#
#   scripts/phases.sh PHASE[+PHASE]...
#
# A phase that stands behind a plus begins beside the one before it, with the least
# priority: it takes what that one and those after it leave of the processors, and is
# shown at the end.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
. scripts/machine.sh

# What is built once and from nothing gains nothing by what the next build could reuse, and
# nobody looks at it with a debugger.
export CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=none
# A phase is a make of its own: what was said to this one (-n, -k, -j) was not for it.
unset MAKEFLAGS MAKELEVEL MFLAGS
rm -f "$target/left-out.txt"
failed=0
summary=
begun=$SECONDS
# run PHASE COMMAND...: runs it, and keeps how it ended and how long it took.
run() {
    local phase=$1 start=$SECONDS ended=ok
    shift
    "$@" make --no-print-directory "$phase" || ended="FAILED ($?)"
    printf '%-12s %5d s  %s\n' "$phase" $((SECONDS - start)) "$ended" >"$logs/$phase.end"
}
# tell PHASE: says how it ended.
tell() {
    local line
    line=$(cat "$logs/$1.end" 2>/dev/null) || line="$1 FAILED (it did not end)"
    echo "== $line"
    summary+=$line$'\n'
    case $line in *FAILED*) failed=1 ;; esac
}
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
beside=()
for phases in "$@"; do
    phase=${phases%%+*}
    echo "== $phase"
    if [ "$phase" != "$phases" ]; then
        beside+=("${phases#*+}")
        echo "(and ${phases#*+} beside it)"
        run "${phases#*+}" nice -n 19 >"$logs/${phases#*+}.out" 2>&1 &
    fi
    run "$phase" env
    tell "$phase"
done
wait
for phase in ${beside[@]+"${beside[@]}"}; do
    echo "== $phase"
    cat "$logs/$phase.out"
    tell "$phase"
done
echo
echo "== phases"
printf '%s' "$summary"
printf '%-12s %5d s  %s\n' all $((SECONDS - begun)) "$([ $failed = 0 ] && echo ok || echo FAILED)"
cat "$target/left-out.txt" 2>/dev/null
exit $failed
