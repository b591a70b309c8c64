#!/usr/bin/env bash
# Checks what lockproof is packed and delivered with: the container file, the action and the
# workflows of GitHub, the template for GitLab, the examples in docs/ci.md, every shell script,
# and the archive of a release.
#
#   scripts/packages.sh
#
# The linters are those that scripts/setup.sh --tests installs. What is missing is left out,
# and named: here, and at the end of `make test`. Each linter that is there must also find a
# mistake that is planted: one that lets everything through would be green for ever.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/machine.sh

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=0
# need QUESTION... -- WHAT REASON: whether this check can be made here; says so if it cannot.
need() {
    local question=()
    while [ "$1" != -- ]; do
        question+=("$1")
        shift
    done
    "${question[@]}" && return
    mkdir -p "$target"
    echo "left out: $2: $3" | tee -a "$target/left-out.txt"
    return 1
}
# passes WHAT COMMAND...
passes() {
    local what=$1
    shift
    if "$@" >"$scratch/said" 2>&1; then
        echo "ok: $what"
    else
        failed=1
        echo "FAILED: $what"
        sed 's/^/  /' "$scratch/said"
    fi
}
# finds TEXT COMMAND...: the command fails, and says this about what was planted.
finds() {
    local text=$1
    shift
    if "$@" >"$scratch/said" 2>&1; then
        failed=1
        echo "FAILED: $1 takes what is wrong (it should say $text)"
    elif ! grep -q -- "$text" "$scratch/said"; then
        failed=1
        echo "FAILED: $1 does not say $text about what is wrong:"
        sed 's/^/  /' "$scratch/said"
    fi
}
# block NAME: this example of docs/ci.md.
block() {
    awk -v mark="<!-- yaml: $1 -->" '
        $0 == mark { found = 1; next }
        found && /^```yaml$/ { inside = 1; next }
        inside && /^```$/ { exit }
        inside' docs/ci.md
}

template=packaging/gitlab/lockproof.gitlab-ci.yml
python_and_pip="where Python and pip are: scripts/setup.sh --tests"

if need has_tool shellcheck -- "the shell scripts" "there is no shellcheck ($python_and_pip)"; then
    mapfile -t scripts < <(grep -rlIE '^#!.*[/ ](ba)?sh$' .ci packaging scripts tests | sort)
    passes "${#scripts[@]} shell scripts" "$(tool shellcheck)" -x "${scripts[@]}"
    # shellcheck disable=SC2016 # It is the mistake.
    printf '#!/bin/sh\ncat $1\n' >"$scratch/planted.sh"
    finds SC2086 "$(tool shellcheck)" "$scratch/planted.sh"
fi

if need has_tool hadolint -- "the container file" "there is no hadolint ($python_and_pip)"; then
    passes "Containerfile" "$(tool hadolint)" --no-color Containerfile
    { cat Containerfile && echo "RUN cd / && sudo true"; } >"$scratch/Containerfile"
    finds DL3004 "$(tool hadolint)" --no-color "$scratch/Containerfile"
fi

# The workflows of this repository, and those that docs/ci.md shows: these as a user has them,
# in a repository of their own.
if need has_tool actionlint -- "the workflows" "there is no actionlint (where Go is: scripts/setup.sh --tests)"; then
    lint=("$(tool actionlint)" -no-color -shellcheck "$(tool shellcheck || true)" -pyflakes "")
    passes "the workflows" "${lint[@]}" .github/workflows/*.yml
    mkdir -p "$scratch/user/.github/workflows"
    for name in one-job github github-parts; do
        block $name >"$scratch/user/.github/workflows/$name.yml"
        passes "docs/ci.md: $name" env -C "$scratch/user" "${lint[@]}" ".github/workflows/$name.yml"
    done
    # An input that the action does not have, in a workflow that uses it.
    mkdir -p "$scratch/own/.git" "$scratch/own/.github/workflows"
    cp action.yml "$scratch/own"
    sed 's/install-only:/install-lonely:/' .github/workflows/release.yml >"$scratch/own/.github/workflows/planted.yml"
    finds install-lonely env -C "$scratch/own" "${lint[@]}" .github/workflows/planted.yml
fi

if need has_check_jsonschema -- "the action and the template for GitLab" \
    "there is no check-jsonschema ($python_and_pip)"; then
    action=(check_jsonschema --builtin-schema vendor.github-actions)
    passes "action.yml" "${action[@]}" action.yml
    sed 's/^    shell: bash$/    shall: bash/; s/^      shell: bash$/      shall: bash/' action.yml >"$scratch/action.yml"
    finds shall "${action[@]}" "$scratch/action.yml"
    gitlab=(check_jsonschema --builtin-schema vendor.gitlab-ci --data-transform gitlab-ci)
    # The schema lets a hidden job hold anything.
    sed 's/^\.lockproof:/lockproof:/' "$template" >"$scratch/shown.yml"
    passes "$template" "${gitlab[@]}" "$scratch/shown.yml"
    block gitlab >"$scratch/gitlab.yml"
    passes "docs/ci.md: gitlab" "${gitlab[@]}" "$scratch/gitlab.yml"
    sed 's/^    when: always/    when: allways/' "$scratch/shown.yml" >"$scratch/planted.gitlab.yml"
    finds allways "${gitlab[@]}" "$scratch/planted.gitlab.yml"
fi

# The program that the tests have built, packed twice as a release would be.
cargo build --locked --quiet
for turn in 1 2; do
    passes "the archive of a release, packed ($turn)" \
        scripts/release.sh --dry-run --out "$scratch/release-$turn"
done
passes "the same bytes twice" diff -r "$scratch/release-1" "$scratch/release-2"
exit $failed
