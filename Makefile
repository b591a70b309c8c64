# make run   the main job: check every built-in lock, replay what was found on
#            real servers, write the report into reports/latest/
# make test  everything that must be green, as CI does it
#
# `make -n test` shows the commands; CONTRIBUTING.md says when each is of use.

TARGET = $${CARGO_TARGET_DIR:-target}
PHASE = scripts/phase.sh

.PHONY: run test setup format lint tests docs licences build baseline scenarios
# The phases share one target directory and two cores; side by side they would
# only wait for each other's locks.
.NOTPARALLEL:

run: setup build
	$(TARGET)/release/lockproof run

test: setup format lint tests docs licences baseline scenarios

setup:
	@$(PHASE) setup scripts/setup.sh $(SETUP)

format:
	@$(PHASE) format cargo fmt --all --check

lint:
	@$(PHASE) lint cargo clippy --locked --workspace --all-targets -- -D warnings

tests:
	@$(PHASE) tests cargo test --locked --workspace

docs:
	@$(PHASE) docs env RUSTDOCFLAGS="-D warnings" cargo doc --locked --workspace --no-deps

# cargo-deny where it is installed. Its advisories are left out: they need a
# database from the network, and would turn an old commit red.
licences:
	@$(PHASE) licences python3 scripts/licences.py
	@if command -v cargo-deny >/dev/null; then \
	    $(PHASE) cargo-deny cargo deny --locked --offline check licenses bans sources; \
	fi

build:
	@$(PHASE) build cargo build --locked --release --workspace

# Every verdict, and every replay on a real server, as published. The binary is the
# one that the tests have built: an optimised one takes longer to build than it saves.
baseline:
	@$(PHASE) baseline cargo run --locked --quiet -- run --baseline

# Every scenario as it expects, replayed: fewer times than a user would.
scenarios:
	@$(PHASE) scenarios cargo run --locked --quiet -- scenario run --replays 3 --walks 2
