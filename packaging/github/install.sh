#!/usr/bin/env bash
# Installs a release of lockproof and a Redis server on a runner of GitHub Actions: the first step
# of action.yml.
#
#   LOCKPROOF_VERSION     the release, such as v0.1.0; without it, the version of this source tree
#   LOCKPROOF_REPOSITORY  OWNER/NAME of the repository that has the releases
#   LOCKPROOF_RELEASES    an address or a folder that holds the files of the release, in its place
#
# Nothing is run before its SHA-256 sum is the one in the release's SHA256SUMS.
set -euo pipefail

fail() {
    # A workflow command ends with its line.
    echo "::error title=lockproof::failed to install lockproof: $1"
    exit 1
}
source=$(cd "$(dirname "$0")/../.." && pwd)

tag=${LOCKPROOF_VERSION:-}
if [ -z "$tag" ]; then
    version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' "$source/Cargo.toml")
    tag=v$version
fi
version=${tag#v}
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$ ]] ||
    fail "the version is a release such as v0.1.0, and $(printf %q "$tag") is none"
tag=v$version

[ "$(uname -s)" = Linux ] || fail "lockproof runs on Linux, and this runner is $(uname -s); use runs-on: ubuntu-latest"
case $(uname -m) in
x86_64) target=x86_64-unknown-linux-musl ;;
aarch64) target=aarch64-unknown-linux-musl ;;
*) fail "there is no release for $(uname -m)" ;;
esac

releases=${LOCKPROOF_RELEASES:-}
if [ -z "$releases" ]; then
    repository=${LOCKPROOF_REPOSITORY:-}
    # An action in the caller's own repository (uses: ./) has no name of its own.
    repository=${repository:-${GITHUB_REPOSITORY:-}}
    [[ $repository =~ ^[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+$ ]] ||
        fail "the repository is OWNER/NAME, and $(printf %q "$repository") is none"
    releases=${GITHUB_SERVER_URL:-https://github.com}/$repository/releases/download/$tag
fi

home=$(mktemp -d "${RUNNER_TEMP:-/tmp}/lockproof.XXXXXX")
# fetch FILE: into the new folder.
fetch() {
    case $releases in
    *://*)
        curl --fail --silent --show-error --location --retry 3 --output "$home/$1" "$releases/$1" ||
            fail "$releases/$1 cannot be fetched; is there such a release?"
        ;;
    *) cp "$releases/$1" "$home/$1" || fail "$releases has no $1" ;;
    esac
}
name=lockproof-$version-$target
fetch SHA256SUMS
# The line of this very file: a list without it checks nothing.
sum=$(awk -v file="$name.tar.gz" '$2 == file || $2 == "*" file { print $1 }' "$home/SHA256SUMS")
[[ $sum =~ ^[0-9a-f]{64}$ ]] || fail "SHA256SUMS has no sum of $name.tar.gz, or more than one"
fetch "$name.tar.gz"
found=$(sha256sum "$home/$name.tar.gz")
found=${found%% *}
[ "$found" = "$sum" ] ||
    fail "$name.tar.gz is not the file that was released: its SHA-256 sum is $found, and SHA256SUMS says $sum"
tar -xzf "$home/$name.tar.gz" -C "$home"
program=$home/$name/lockproof
said=$("$program" --version) || fail "$name does not run on this runner"
[ "$said" = "lockproof $version" ] || fail "$name.tar.gz holds $said"

if ! command -v redis-server >/dev/null && ! command -v valkey-server >/dev/null; then
    as_root=()
    [ "$(id -u)" = 0 ] || as_root=(sudo)
    command -v apt-get >/dev/null ||
        fail "there is no Redis server, and no apt-get to get one; install redis-server in a step before"
    {
        "${as_root[@]}" apt-get update -qq &&
            "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
                apt-get install -qq -y --no-install-recommends redis-server
    } || fail "apt-get cannot install redis-server"
fi

echo "$home/$name" >>"${GITHUB_PATH:-/dev/null}"
echo "version=$version" >>"${GITHUB_OUTPUT:-/dev/null}"
echo "installed $said"
