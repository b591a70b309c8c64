# make run   the main job: check every built-in lock, replay what was found on
#            real servers, write the report into reports/latest/
# make test  everything that must be green, as CI does it
#
# Both install what they need and is missing. Each phase of `make test` is a target of
# its own, and `make -n PHASE` shows its commands.

.PHONY: run test server setup format lint build-tests tests fuzz docs licences build baseline pages site scenarios naive mutants independent packages release servers-matrix fuzz-guided
# The phases share one target directory and two cores; side by side they would
# only wait for each other's locks.
.NOTPARALLEL:

run: server build
	cargo run --locked --release --quiet -- run

test:
	@scripts/phases.sh setup format build-tests tests+lint docs+fuzz licences baseline+packages scenarios+independent

server:
	@scripts/setup.sh

setup:
	@scripts/setup.sh --tests

format:
	cargo fmt --all --check

lint:
	cargo clippy --locked --all-targets -- -D warnings

# The tests mostly wait, and linting beside them takes what they leave: but two builds
# would wait for each other, so the tests are built before.
build-tests:
	cargo test --locked --no-run

tests:
	@scripts/tests.sh

# A quarter of a minute of hostile inputs for each kind of text that lockproof reads, two kinds at a time.
# FUZZ_SEED makes them others (docs/fuzzing.md).
FUZZ_SECONDS ?= 15
fuzz:
	FUZZ_SECONDS=$(FUZZ_SECONDS) cargo test --locked --quiet --test fuzz hunts:: -- --test-threads=2 --nocapture

docs:
	RUSTDOCFLAGS="-D warnings" cargo doc --locked --no-deps

# cargo-deny where it is installed. Its advisories are left out: they need a
# database from the network, and would turn an old commit red.
licences:
	python3 scripts/licences.py
	@if command -v cargo-deny >/dev/null; then \
	    cargo deny --locked --offline check licenses bans sources; \
	fi

build:
	@echo "building lockproof, which takes some minutes the first time"
	@cargo build --locked --release --quiet

# The pages of the docs that a run of the whole matrix writes.
PAGES_OF_ONE_LANGUAGE = locks faults.md properties.md which-lock.md
PAGES = overview.svg $(PAGES_OF_ONE_LANGUAGE) $(PAGES_OF_ONE_LANGUAGE:%=zh-CN/%)

# Every verdict as published, every counterexample and some walks on a real server (fewer
# times than `make run`), and the pages that it writes. The binary is the one that the tests have
# built: an optimised one takes longer to build than it saves.
baseline:
	rm -rf $(PAGES:%=reports/latest/%)
	cargo run --locked --quiet -- run --baseline --replays 1 --walks 5
	@ended=0; for page in $(PAGES); do diff -ru docs/$$page reports/latest/$$page || ended=1; done; exit $$ended

# The same pages from the last run into the docs, where a change of them is meant.
pages:
	rm -rf $(PAGES:%=docs/%)
	for page in $(PAGES); do cp -r reports/latest/$$page docs/$$page; done

# The documents as a book, with a live report in it, in target/site/html. No part of CI: building
# mdbook takes minutes. What could break it, a dead link or a page that is nowhere in the book,
# is a test (tests/docs).
site:
	@scripts/site.sh

# Every scenario as it expects, replayed: fewer times than a user would.
scenarios:
	cargo run --locked --quiet -- scenario run --replays 1 --walks 2

# Generated lock files for an hour, and all others under all sets: the checker's answers beside those of a naive search.
# NAIVE_SEED makes them others.
NAIVE_SECONDS ?= 3600
naive:
	NAIVE_SECONDS=$(NAIVE_SECONDS) cargo test --locked --release -p lockproof-model --test naive -- --nocapture

# Ten locks once more in Promela, checked by SPIN: the same verdicts, and traces of the same
# length (tests/independent/README.md).
independent:
	@scripts/independent.sh

# The container file, the action, the workflows, the template for GitLab, every shell script, and
# the archive of a release made of the program that the tests have built.
packages:
	@scripts/packages.sh

# The files of a release, in target/release-files (docs/packages.md). Nothing is published.
release:
	@scripts/release.sh

# The published matrix on every server of this machine in turn: Redis 7.0 or 8.2 and Valkey 9, as
# `make setup` gets them. No part of CI: it takes a quarter of an hour.
servers-matrix: setup build
	cargo run --locked --release --quiet -- run --every-server --replays 5 --walks 10 --out reports/servers

# The mutants of every built-in lock, and the tables of docs/mutate.md anew. No part of CI: it
# takes a quarter of an hour.
mutants: build
	scripts/mutants.py target/release/lockproof

# The same kinds under libFuzzer, which is led by what an input reaches: all of them, or
# FUZZ_TARGET. It takes cargo-fuzz, and builds everything once more.
fuzz-guided:
	FUZZ_SECONDS=$(FUZZ_SECONDS) scripts/fuzz-guided.sh
