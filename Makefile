SHELL := /bin/bash
.DEFAULT_GOAL := help

# Rust that was installed in this very terminal is not on its PATH yet.
export PATH := $(PATH):$(HOME)/.cargo/bin

.PHONY: help setup setup-tests demo evaluate bench test check fmt clippy docs features

help: ## List these targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## Install what building and running needs (skips what is there)
	@scripts/setup.sh

setup-tests:
	@scripts/setup.sh --tests

demo: setup ## Index demo/files and answer the questions in demo/questions.tsv
	@echo "Building the demo. The first build compiles LanceDB and takes 20 to 40 minutes on two cores; later ones take seconds."
	@cargo build --all-features --example demo
	@cargo run --quiet --all-features --example demo

evaluate: setup ## Measure search quality (the example `evaluate`)
	@cargo build --all-features --example evaluate
	@cargo run --quiet --all-features --example evaluate -- $(ARGS)

bench: setup ## Measure against other libraries, in one table; ARGS="embedding rerank" takes only these parts
	@scripts/bench.sh $(ARGS)

test: setup-tests ## Run all tests
	cargo test --workspace --all-features

check: fmt clippy docs features ## Formatting, lints, documentation and each feature alone

fmt: ## Check the formatting
	cargo fmt --all --check

clippy: setup ## Run the lints; a warning is an error
	cargo clippy --workspace --all-features --all-targets -- -D warnings

# With the examples, so that the dependencies have the features that the lints gave them, and are not checked once more.
docs: setup ## Build the documentation; a warning is an error
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --all-features --no-deps --lib --examples

features: setup ## Check each feature alone
	scripts/check_features.sh
