# SPDX-License-Identifier: Apache-2.0
# The front door. meson and ninja do the work; `make help` lists what there is.
.SUFFIXES:
.DEFAULT_GOAL := all

BUILD ?= build
PREFIX ?= /usr/local
DESTDIR ?=
# More options for meson, as in: make MESON_OPTIONS=-Dpg=disabled
MESON_OPTIONS ?=
FUZZ_SECONDS ?= 20
LINT_SECONDS ?= 240
# What `make test` runs besides the slow suites, which `make slow` runs.
TEST_OPTIONS = --no-suite slow --no-suite story
QUIET_NINJA = ninja --quiet -C

.PHONY: all build help demo demo-bisect test story slow reliability decision-quality bench \
	bench-load bench-ledger san valgrind fuzz lint format docs install \
	uninstall clean rooms

all: build ## build everything into build/

build:
	@tools/setup build
	@tools/configure $(BUILD) $(MESON_OPTIONS)
	@$(QUIET_NINJA) $(BUILD)

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1|\2/p' Makefile | \
		awk -F'|' '{ printf "%-16s %s\n", $$1, $$2 }'
	@echo
	@echo "BUILD=$(BUILD) PREFIX=$(PREFIX) DESTDIR=$(DESTDIR) FUZZ_SECONDS=$(FUZZ_SECONDS)" \
		"LINT_SECONDS=$(LINT_SECONDS)"

demo: ## the whole story on a real workload, a few minutes
	@tools/setup demo
	@tools/configure $(BUILD) $(MESON_OPTIONS)
	@$(QUIET_NINJA) $(BUILD)
	@TWICE_BIN=$(BUILD)/src/cli/twice examples/demo

demo-bisect: ## five components change at once, the search finds the one; two minutes
	@tools/setup demo
	@tools/configure $(BUILD) $(MESON_OPTIONS)
	@$(QUIET_NINJA) $(BUILD)
	@TWICE_BIN=$(BUILD)/src/cli/twice examples/demo-bisect

test: ## build, run every quick test and the story, print the sum
	@tools/setup test
	@tools/configure $(BUILD) $(MESON_OPTIONS)
	@$(QUIET_NINJA) $(BUILD)
	@tools/run-tests $(BUILD) $(TEST_OPTIONS) -- --suite story

story: ## the demo as a test
	@tools/setup test
	@tools/configure $(BUILD) $(MESON_OPTIONS)
	@$(QUIET_NINJA) $(BUILD)
	@tools/run-tests $(BUILD) --suite story

slow: ## the long tests: simulations, crashes by the thousand
	@tools/setup test
	@tools/configure $(BUILD) $(MESON_OPTIONS)
	@$(QUIET_NINJA) $(BUILD)
	@tools/run-tests $(BUILD) --suite slow

reliability: ## the ledger under kills, power loss, tampering; writes docs/reliability.md
	@tools/setup test
	@tools/configure $(BUILD) $(MESON_OPTIONS)
	@$(QUIET_NINJA) $(BUILD)
	@tools/reliability $(BUILD)

decision-quality: ## how often decisions and searches err; an hour; writes docs/decision-quality.md
	@tools/setup build
	@tools/configure $(BUILD) $(MESON_OPTIONS)
	@$(QUIET_NINJA) $(BUILD) tests/slow/quality tests/slow/search
	@TWICE_QUALITY=docs/decision-quality.md TWICE_TEST_LIMIT_S=9000 $(BUILD)/tests/slow/quality
	@TWICE_QUALITY=docs/decision-quality.md TWICE_TEST_LIMIT_S=9000 $(BUILD)/tests/slow/search

bench: ## measure our own speed
	@tools/setup demo
	@tools/configure $(BUILD) $(MESON_OPTIONS)
	@$(QUIET_NINJA) $(BUILD)
	@meson test -C $(BUILD) --no-rebuild --benchmark --verbose --num-processes 1

bench-load: ## goals of the load engine, then beside GuideLLM and vLLM's client (PEERS=no: without)
	@tools/setup bench
	@tools/configure $(BUILD) $(MESON_OPTIONS)
	@$(QUIET_NINJA) $(BUILD)
	@meson test -C $(BUILD) --no-rebuild --benchmark --verbose --num-processes 1 load
	@[ "$(PEERS)" = no ] || python3 bench/peers.py $(BUILD)/src/cli/twice \
		$(BUILD)/tests/fake/fake-server --out $(BUILD)/load-peers.md

bench-ledger: ## goals of the ledger, and the program on a ledger of a million entries
	@tools/setup test
	@tools/configure $(BUILD) $(MESON_OPTIONS)
	@$(QUIET_NINJA) $(BUILD)
	@TWICE_BENCH_ENTRIES=1000000 $(BUILD)/bench/bench_ledger
	@python3 bench/ledger_million.py $(BUILD)/src/cli/twice $(BUILD)/bench/bench_ledger

bench-diagnose: ## how fast logs go past the signatures, against grep -F
	@tools/setup build
	@tools/configure $(BUILD) $(MESON_OPTIONS)
	@$(QUIET_NINJA) $(BUILD) bench/bench_diagnose
	@$(BUILD)/bench/bench_diagnose

san: ## the tests under AddressSanitizer (finds leaks too) and UBSan
	@tools/setup test
	@tools/configure $(BUILD)-san -Db_sanitize=address,undefined $(MESON_OPTIONS)
	@$(QUIET_NINJA) $(BUILD)-san
	@tools/run-tests $(BUILD)-san --no-suite slow --no-suite story --no-suite examples \
		--no-suite tools

valgrind: ## the unit tests under valgrind; slow
	@tools/setup test san
	@tools/configure $(BUILD) $(MESON_OPTIONS)
	@$(QUIET_NINJA) $(BUILD)
	@tools/run-tests $(BUILD) --setup valgrind --suite unit --no-suite slow

fuzz: ## every fuzz target for FUZZ_SECONDS, with ASan and UBSan
	@tools/setup fuzz
	@CC=clang tools/configure $(BUILD)-fuzz -Dfuzz=libfuzzer -Db_lundef=false \
		-Db_sanitize=address,undefined -Doptimization=1
	@$(QUIET_NINJA) $(BUILD)-fuzz fuzzers
	@tools/fuzz $(BUILD)-fuzz $(FUZZ_SECONDS)

lint: ## clang-format, cppcheck, clang-tidy, shellcheck, the layering
	@tools/setup lint
	@tools/configure $(BUILD) $(MESON_OPTIONS)
	@tools/lint --build $(BUILD) --seconds $(LINT_SECONDS)

format: ## let clang-format rewrite every C file
	@tools/setup lint
	git ls-files -z '*.[ch]' | xargs -0 clang-format -i

rooms: ## check the layering and count lines
	@tools/rooms --lines

docs: ## the man pages, into build/man/
	@tools/setup build
	@tools/configure $(BUILD) $(MESON_OPTIONS)
	@$(QUIET_NINJA) $(BUILD) man-pages
	@for page in man/*.scd; do page=$${page%.scd}; ls $(BUILD)/$$page; done

install: ## install under PREFIX (DESTDIR in front, if given)
	@tools/setup build
	@tools/configure $(BUILD) --prefix $(PREFIX) $(MESON_OPTIONS)
	@$(QUIET_NINJA) $(BUILD)
	@DESTDIR=$(DESTDIR) meson install -C $(BUILD) --no-rebuild --quiet

uninstall: ## remove what `make install` put there
	@$(QUIET_NINJA) $(BUILD) uninstall

clean: ## remove the build folders
	rm -rf $(BUILD) $(BUILD)-san $(BUILD)-fuzz $(BUILD)-clang
