# SPDX-License-Identifier: MIT
# A thin face over Meson: `make`, `make demo`, `make test`, ...
BUILD ?= build
SHELL := /bin/bash
# What the build needs; after -- what the wait chain needs (without it the sampler does its work).
PACKAGES := meson ninja-build gcc pkg-config python3 libsqlite3-dev zlib1g-dev
WAIT_CHAIN := clang llvm libbpf-dev 'bpftool|linux-tools-generic' libelf-dev
TEST_PACKAGES := libcmocka-dev libyajl-dev python3-pytest python3-jsonschema libfuse3-dev fuse3 iproute2 util-linux
SOURCES := git ls-files '*.c' '*.h'

.PHONY: all demo test scenarios bench sanitize dist install clean format format-check check deps test-deps
.NOTPARALLEL:

all: $(BUILD)/build.ninja
	@ninja -C $(BUILD)

# A setup that was killed leaves a folder that meson does not set up again.
$(BUILD)/build.ninja:
	@tools/need.sh $(PACKAGES) -- $(WAIT_CHAIN)
	@rm -rf $(BUILD)/meson-private
	@meson setup $(BUILD)

deps:
	@tools/need.sh $(PACKAGES) -- $(WAIT_CHAIN)

# A build made before the tests' packages came has no tests in it yet.
test-deps:
	@tools/need.sh $(PACKAGES) $(WAIT_CHAIN) $(TEST_PACKAGES)
	@tools/get-torch.sh $(BUILD)
	@[ ! -e $(BUILD)/build.ninja ] || [ -e $(BUILD)/tests/ledger ] || meson setup --reconfigure $(BUILD)

# Installs what is missing, builds, runs a starving PyTorch job and prints the verdict.
demo:
	@tools/need.sh $(PACKAGES) -- $(WAIT_CHAIN)
	@$(MAKE) --no-print-directory all
	@tools/get-torch.sh $(BUILD)
	@tools/demo.sh $(BUILD)

test: test-deps all
	@tools/check-layers.py
	@meson test -C $(BUILD) --print-errorlogs --num-processes 1

scenarios: test-deps all
	@python3 tests/scenarios/run.py --table --python "$$(tools/find-torch.sh $(BUILD))"

bench: test-deps all
	@bench/run.sh $(BUILD)

# The unit tests under gcc's address and undefined-behaviour sanitizers.
sanitize: test-deps
	@tools/sanitize.sh build-asan

# dist/gpufeed-VERSION-linux-ARCH.tar.gz: runs from any folder, without root.
dist: deps
	@tools/dist.sh build-dist dist

install: all
	@meson install -C $(BUILD)

format:
	@clang-format -i $$($(SOURCES))

format-check:
	@clang-format --dry-run -Werror $$($(SOURCES))

check:
	@tools/check-layers.py

clean:
	@rm -rf $(BUILD) build-asan build-dist
