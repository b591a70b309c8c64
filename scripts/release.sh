#!/usr/bin/env bash
# Makes the files of a release, and publishes nothing: that is left to
# .github/workflows/release.yml, which runs this on a tag.
#
#   scripts/release.sh [--tag TAG] [--complete] [--dry-run] [--out FOLDER]
#
#   --tag TAG      the tag to be released: it must be v and the version of Cargo.toml, name this
#                  commit, and have its section in CHANGELOG.md
#   --complete     what cannot be made here is an error; without it, it is left out and named
#   --dry-run      packs the program that the tests have built, from any tree
#   --out FOLDER   where the files go: target/release-files by default; what is there is removed
#
# For x86-64 and arm64 it builds a program that is linked statically with musl and runs on any
# Linux. Where Rust's musl target cannot be had, it builds against the machine's glibc and says
# which glibc is needed at least. The same commit and compiler make the same bytes.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/machine.sh

fail() {
    echo "error: failed to make a release: $1" >&2
    exit 1
}
usage() {
    sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0" >&2
    exit 64
}

tag='' complete=no dry=no out=$target/release-files
while [ $# != 0 ]; do
    case $1 in
    --tag | --out)
        [ -n "${2:-}" ] || usage
        case $1 in --tag) tag=$2 ;; --out) out=$2 ;; esac
        shift
        ;;
    --complete) complete=yes ;;
    --dry-run) dry=yes ;;
    *) usage ;;
    esac
    shift
done

for program in cargo git gcc tar gzip sha256sum python3 strip objdump; do
    has "$program" || fail "there is no $program"
done
version=$(cargo pkgid --locked --offline --package lockproof) || fail "cargo cannot read Cargo.toml and Cargo.lock"
version=${version##*[@#]}

if [ -n "$tag" ]; then
    [ "$tag" = "v$version" ] ||
        fail "the tag is $tag, but Cargo.toml says $version, which is v$version"
    grep -qF "## [$version]" CHANGELOG.md ||
        fail "CHANGELOG.md has no section [$version]; give what is under Unreleased this name"
fi
commit=$(git rev-parse HEAD 2>/dev/null) || fail "this is no git clone with a commit, whose time the archives get"
if [ $dry = no ]; then
    changed=$(git status --porcelain)
    [ -z "$changed" ] || fail "files differ from the commit; commit or stash them, or try with --dry-run:
$changed"
    if [ -n "$tag" ] && named=$(git rev-parse "refs/tags/$tag^{commit}" 2>/dev/null); then
        [ "$named" = "$commit" ] || fail "$tag names the commit $named, and this is $commit"
    elif [ -n "$tag" ]; then
        fail "there is no tag $tag in this clone"
    fi
fi
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# left_out WHAT REASON
left_out() {
    [ $complete = no ] || fail "$1: $2"
    echo "left out: $1: $2"
}

# pack PROGRAM TARGET: the archive of one program. Its man page and completions are in
# $scratch/extras; nothing in it depends on who packs it, where, or when.
pack() {
    local name=lockproof-$version-$2
    local home=$scratch/$name
    mkdir -p "$home"
    cp "$1" "$home/lockproof"
    cp README.md CHANGELOG.md SECURITY.md LICENSE-APACHE LICENSE-MIT "$home"
    cp -r "$scratch/extras/." "$home"
    (
        cd "$scratch"
        find "$name" -exec chmod u=rwX,go=rX {} +
        LC_ALL=C tar --create --sort=name --format=ustar --mtime="@$SOURCE_DATE_EPOCH" \
            --owner=0 --group=0 --numeric-owner "$name"
    ) | gzip -9 --no-name >"$out/$name.tar.gz"
    rm -rf "$home"
    echo "packed $name.tar.gz: $(stat -c %s "$out/$name.tar.gz") bytes"
}

# extras PROGRAM: what the program says of itself, and the licences of what is in it.
extras() {
    local extras=$scratch/extras
    mkdir -p "$extras/man" "$extras/completions"
    "$1" man >"$extras/man/lockproof.1"
    "$1" completions bash >"$extras/completions/lockproof.bash"
    "$1" completions zsh >"$extras/completions/_lockproof"
    "$1" completions fish >"$extras/completions/lockproof.fish"
    python3 scripts/licences.py --texts >"$extras/LICENSES-DEPENDENCIES.txt"
}

# What is there from another run is no part of this one. A folder that holds anything else
# is not ours to empty.
if [ -d "$out" ]; then
    strange=$(find "$out" -mindepth 1 -maxdepth 1 ! -name 'lockproof-*' ! -name SHA256SUMS ! -name NOTES.md | head -n 1)
    [ -z "$strange" ] || fail "$out holds $strange, which no release made; name another folder with --out"
    rm -rf "$out"
fi
mkdir -p "$out"
out=$(cd "$out" && pwd)

host=$(rustc -vV | sed -n 's/^host: //p')
if [ $dry = yes ]; then
    program=$target/debug/lockproof
    [ -x "$program" ] || fail "there is no $program yet; run cargo build"
    strip -o "$scratch/lockproof" "$program"
    extras "$scratch/lockproof"
    pack "$scratch/lockproof" "$host"
    (cd "$out" && sha256sum -- *.tar.gz >SHA256SUMS)
    echo "a dry run: $out is no release"
    exit 0
fi

# has_standard_library TARGET: gets it with rustup where it is missing.
has_standard_library() {
    [ -n "$(ls "$(rustc --print target-libdir --target "$1")"/libstd-*.rlib 2>/dev/null)" ] && return
    has rustup && rustup target add "$1" &>"$scratch/rustup.log"
}

# build TARGET COMPILER: the release's program for it, in $target/TARGET/release. Paths of
# this machine are no part of it. Few crates compile anything but Rust, and only assembly:
# the compiler for glibc does for musl.
build() {
    local variable=${1//-/_}
    local flags=(
        "--remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo"
        "--remap-path-prefix=$PWD=/lockproof"
    )
    local settings=("CC_$variable=$2")
    [ "$2" = gcc ] || settings+=("CARGO_TARGET_${variable^^}_LINKER=$2")
    local IFS=$'\x1f'
    env CARGO_INCREMENTAL=0 "CARGO_ENCODED_RUSTFLAGS=${flags[*]}" "${settings[@]}" \
        cargo build --locked --release --package lockproof --bin lockproof --target "$1"
}

# needs_of PROGRAM: the libc that it takes.
needs_of() {
    local newest
    if objdump -p "$1" | grep -q NEEDED; then
        newest=$(objdump -T "$1" | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -n 1)
        echo "Linux with glibc ${newest#GLIBC_} or newer"
    else
        echo "any Linux (it is linked statically)"
    fi
}

notes=$scratch/NOTES.md
{
    echo "| file | runs on |"
    echo "|---|---|"
} >"$notes"
packed=0 bill_of=''
native=${host%%-*}
for architecture in "$native" $([ "$native" = x86_64 ] && echo aarch64 || echo x86_64); do
    compiler=gcc
    if [ "$architecture" != "$native" ]; then
        compiler=$architecture-linux-gnu-gcc
        if ! has "$compiler"; then
            left_out "lockproof for $architecture" "there is no $compiler (Debian's gcc-${architecture/_/-}-linux-gnu)"
            continue
        fi
    fi
    triple=$architecture-unknown-linux-musl
    if ! has_standard_library "$triple"; then
        left_out "lockproof without glibc for $architecture" "Rust's standard library for $triple is not here, and rustup cannot get it"
        triple=$architecture-unknown-linux-gnu
        if ! has_standard_library "$triple"; then
            left_out "lockproof for $architecture" "Rust's standard library for $triple is not here, and rustup cannot get it"
            continue
        fi
    fi
    build "$triple" "$compiler"
    program=$target/$triple/release/lockproof
    [ -d "$scratch/extras" ] || extras "$program"
    # Cargo has stripped it: see profile.release in Cargo.toml.
    pack "$program" "$triple"
    needs=$(needs_of "$program")
    echo "  it runs on $needs"
    echo "| lockproof-$version-$triple.tar.gz | $needs |" >>"$notes"
    packed=$((packed + 1))
    bill_of=${bill_of:-$triple}
done
[ $packed != 0 ] || fail "there is nothing to pack"

# The list of everything inside, for those who look for known flaws: CycloneDX. It is made of
# a copy, because the tool writes beside each Cargo.toml, and it names the copy's folder.
cyclonedx=0.5.9
if [ ! -x "$target/tools/bin/cargo-cyclonedx" ] &&
    ! cargo install --locked --quiet --root "$target/tools" cargo-cyclonedx --version $cyclonedx; then
    left_out "the bill of materials" "cargo-cyclonedx cannot be built here"
else
    bill=lockproof-$version.cdx.json
    mkdir "$scratch/tree"
    git archive HEAD | tar -x -C "$scratch/tree"
    "$target/tools/bin/cargo-cyclonedx" cyclonedx --quiet --format json --spec-version 1.5 \
        --no-build-deps --target "$bill_of" --manifest-path "$scratch/tree/Cargo.toml"
    sed "s|$scratch/tree|/lockproof|g" "$scratch/tree/lockproof.cdx.json" >"$out/$bill"
    echo "wrote $bill"
fi

{
    # The section of this version; before it has a name, what is not released.
    awk -v version="$([ -n "$tag" ] && echo "$version" || echo Unreleased)" '
        /^## / { inside = index($0, "## [" version "]") == 1; next }
        inside' CHANGELOG.md
    echo
    cat "$notes"
    echo
    echo "Built from the commit $commit with $(rustc --version). \`sha256sum --check SHA256SUMS\` checks the files."
} >"$out/NOTES.md"
(cd "$out" && sha256sum -- lockproof-* >SHA256SUMS)
echo "the files of $version are in $out; nothing is published"
