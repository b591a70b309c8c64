#!/usr/bin/env bash
# Builds the site: the documents as a book, with a report of the built-in locks in it.
#
#   scripts/site.sh
#
# The documents are copied as they lie in the repository, so that the links between them lead to
# the same files. The report is that of the last run; without one, all locks are checked first.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/machine.sh

version=0.5.4
mdbook=$target/tools/bin/mdbook
if [ "$("$mdbook" --version 2>/dev/null)" != "mdbook v$version" ]; then
    echo "site: building mdbook $version, which takes some minutes"
    cargo install mdbook --locked --version "$version" --root "$target/tools" \
        --no-default-features --features search
fi

report=reports/latest/report.html
[ -f $report ] || cargo run --locked --release --quiet -- run

site=$target/site
rm -rf "$site"
mkdir -p "$site/src"
cp site/book.toml "$site/"
# Documents, and what they link to, where it is in the repository; also what is not yet committed.
folders=(models lua scenarios compose)
git ls-files --cached --others --exclude-standard -z -- ':(glob)*.md' docs site "${folders[@]}" \
    docker-compose.yml deny.toml reports 'LICENSE-*' Containerfile action.yml packaging .github | xargs -0 cp --parents -t "$site/src"
# A link to a folder leads to a list of its files.
for folder in "${folders[@]}"; do
    (cd "$site/src/$folder" && for file in *; do echo "<li><a href=\"$file\">$file</a></li>"; done) |
        cat <(echo "<!doctype html><meta charset=utf-8><title>$folder</title><h1>$folder</h1><ul>") - >"$site/$folder.html"
    mv "$site/$folder.html" "$site/src/$folder/index.html"
done
cp site/SUMMARY.md "$site/src/SUMMARY.md"
cp $report "$site/src/site/report.html"
# A link from the root of the repository becomes one from the root of the book, which may lie
# anywhere on its host. And mdBook calls the page of a README `index`.
find "$site/src" -name '*.md' ! -name SUMMARY.md | while read -r page; do
    folder=$(dirname "${page#"$site/src/"}")
    up=$(realpath --relative-to="$site/src/$folder" "$site/src")
    sed -Ei "s#\]\(/#]($up/#g; s#\]\(([^) :]*)README\.md#](\1index.md#g" "$page"
done
"$mdbook" build "$site"
scripts/site_links.py "$site/html"
echo "site: $site/html/index.html"
