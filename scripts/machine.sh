# shellcheck shell=bash
# What this machine has. Read by setup.sh, tests.sh and packages.sh, so that both ask the same
# questions: one before it installs, the others before they leave something out.

has() { command -v "$1" >/dev/null; }

# Where cargo builds, and where the programs that it builds look for others.
target=$(cargo metadata --locked --offline --no-deps --format-version 1 2>/dev/null |
    sed -n 's/.*"target_directory":"\([^"]*\)".*/\1/p') || true
target=${target:-target}

has_server() {
    has redis-server || has valkey-server || [ -n "$(ls "$target"/servers/*/*-server 2>/dev/null)" ]
}

has_valkey() {
    has valkey-server || [ -n "$(ls "$target"/servers/valkey*/valkey-server 2>/dev/null)" ]
}

# Present is not enough: some systems have a program of that name which only says how to
# get the real one.
has_browser() {
    local browser
    chromedriver --version &>/dev/null || return
    for browser in chromium google-chrome chrome; do
        "$browser" --version &>/dev/null && return
    done
    return 1
}

# A network of one's own in which packets can be dropped: root, iptables, and a kernel
# and a container that allow both. What is asked for is tried, in a network that goes
# with the question.
has_iptables() { has iptables; }
has_spin() { has spin && has gcc; }
has_own_network() {
    unshare --net iptables -w -A INPUT -p tcp --dport 1 -j DROP &>/dev/null
}

has_toxiproxy() { [ -x "$target/tools/toxiproxy-server" ] || has toxiproxy-server; }
has_compose_schema() { [ -f "$target/tools/compose-spec.json" ]; }
has_axe() { [ -f "$target/tools/axe.min.js" ]; }

# What the test beside it builds: nothing is fetched by the question.
has_porcupine() {
    has go && (cd tests/porcupine && GOFLAGS=-mod=readonly GOPROXY=off go mod download &>/dev/null)
}

# The linters of scripts/packages.sh: those that setup.sh has fetched, or the machine's own.
tool() {
    if [ -x "$target/tools/$1" ]; then echo "$target/tools/$1"; else command -v "$1"; fi
}
has_tool() { tool "$1" >/dev/null; }
# A Python package with others in it: it must run with the Python that is here now.
check_jsonschema() {
    if [ -d "$target/tools/check-jsonschema" ]; then
        PYTHONPATH=$target/tools/check-jsonschema python3 -m check_jsonschema "$@"
    else
        check-jsonschema "$@"
    fi
}
has_check_jsonschema() { check_jsonschema --version &>/dev/null; }
