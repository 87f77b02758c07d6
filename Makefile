# SPDX-License-Identifier: MIT
# A thin face over Meson: `make`, `make demo`, `make test`, ...
BUILD ?= build
SHELL := /bin/bash
PACKAGES := meson ninja-build gcc pkg-config python3 libsqlite3-dev zlib1g-dev clang llvm libbpf-dev \
            bpftool libelf-dev
TEST_PACKAGES := libcmocka-dev python3-pytest python3-jsonschema python3-torch python3-numpy \
                 libfuse3-dev fuse3 iproute2 util-linux
APT := DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends

.PHONY: all demo test scenarios bench dist install clean format check deps test-deps

all: $(BUILD)/build.ninja
	@ninja -C $(BUILD)

$(BUILD)/build.ninja:
	@tools/need.sh $(PACKAGES)
	@meson setup $(BUILD)

deps:
	@tools/need.sh $(PACKAGES)

test-deps:
	@tools/need.sh $(PACKAGES) $(TEST_PACKAGES)

# Installs what is missing, builds, runs a starving PyTorch job and prints the verdict.
demo:
	@tools/need.sh $(PACKAGES) python3-torch python3-numpy
	@$(MAKE) --no-print-directory all
	@tools/demo.sh $(BUILD)

test: test-deps all
	@tools/check-layers.py
	@meson test -C $(BUILD) --print-errorlogs --num-processes 2

scenarios: test-deps all
	@python3 tests/scenarios/run.py --table

bench: test-deps all
	@bench/run.sh $(BUILD)

dist: all
	@tools/dist.sh $(BUILD)

install: all
	@meson install -C $(BUILD)

format:
	@clang-format -i $$(git ls-files '*.c' '*.h')

check:
	@tools/check-layers.py

clean:
	@rm -rf $(BUILD)
