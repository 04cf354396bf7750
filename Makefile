# `make run` measures this machine, `make test` tests the project; both set up what they need.
.PHONY: run help test test-kernels test-cluster test-topology test-footprint test-packages lint format charts deny miri mutants fuzz loom loom-mutations truths noise noise-gpu truths-gpu test-gpu sanitize-gpu bundle nvrtc build pages gallery store
.DEFAULT_GOAL := run

run: build            ## measure this machine (ARGS="--preset standard" for more)
	scripts/setup gpu
	$${CARGO_TARGET_DIR:-target}/release/syncscope run $(ARGS)

help:                 ## these targets
	@sed -n 's/^\([a-z-]*\):[^#]*## /\1 /p' $(MAKEFILE_LIST) | while read -r name what; do printf '%-16s %s\n' "$$name" "$$what"; done

build:
	scripts/setup build
	cargo build --release --quiet

test:                 ## everything that needs no GPU; the machine code of the kernels last
	scripts/setup build kernels browser
	scripts/test
	scripts/test browser
	cargo test --workspace --doc --quiet
	scripts/test kernels

test-kernels:         ## the machine code of every program for every architecture: minutes more than in `make test`
	scripts/setup build kernels
	scripts/test all-kernels

# The documentation takes what the lints have checked: `cargo clippy` works so, by these two variables. With others all is right and
# checked anew.
lint: checked = CLIPPY_ARGS=-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__ RUSTC_WORKSPACE_WRAPPER="$$(rustc --print sysroot)/bin/clippy-driver"
lint:                 ## formatting, lints and documentation; the fuzz targets compile
	scripts/setup build format
	scripts/format --check
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	$(checked) RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --quiet

format:               ## format Rust, kernels and the report's assets
	scripts/setup format
	cargo fmt --all
	scripts/format

charts:               ## the chart library of the page, again from npm
	scripts/bundle-charts

deny:                 ## licences, advisories and sources of the dependencies; needs cargo-deny
	cargo deny check

miri:                 ## undefined behaviour in the crates without foreign code; needs a nightly toolchain with Miri
	cargo +nightly miri test -p syncscope-sass --lib
	MIRIFLAGS=-Zmiri-disable-isolation cargo +nightly miri test -p syncscope-core --lib

mutants:              ## small faults in what makes figures and statements, of which the tests notice 95 %: hours (SHARD=0/10); needs cargo-mutants
	scripts/test-mutants $(SHARD)

fuzz:                 ## every reader of other people's bytes for a minute
	scripts/fuzz

loom:                 ## every interleaving of small models of the locks and barriers
	RUSTFLAGS="--cfg loom" cargo test --profile loom -p syncscope-cpu --test loom --target-dir target/loom

loom-mutations:       ## one ordering after the other is weakened, and the models must notice: minutes
	RUSTFLAGS="--cfg loom" cargo test --profile loom -p syncscope-cpu --test loom --target-dir target/loom -- --ignored --nocapture

truths:               ## figures that are known in advance; wants an idle machine
	cargo test --release -p syncscope-cpu --test truths --test contention -- --ignored --nocapture --test-threads 1

noise:                ## are resolved figures right beside busy processes and with half a CPU? minutes; wants an idle machine
	cargo test --release -p syncscope --test noise -- --ignored --nocapture busy_processes

noise-gpu:            ## are resolved figures right beside another process on the GPU? a minute or two
	scripts/setup build gpu
	cargo test --release -p syncscope --test noise -- --ignored --nocapture process_on_the_gpu

truths-gpu:           ## the same on a CUDA device: a float addition takes 4 cycles by two clocks
	scripts/setup build gpu
	cargo test --release -p syncscope-gpu -p syncscope-papers --test device -- --ignored --nocapture --test-threads 1 crosscheck

test-gpu:             ## what needs a CUDA device
	scripts/setup build gpu
	cargo test --release -p syncscope-gpu -p syncscope-papers --test device -- --ignored --test-threads 1

sanitize-gpu:         ## every kernel under compute-sanitizer: memory, races, initialization, barriers
	scripts/setup build gpu
	scripts/sanitize

test-cluster: build   ## Slurm, Open MPI and MPICH on this machine; wants root and installs Debian's packages
	! command -v apt-get || apt-get install -y --no-install-recommends openmpi-bin libopenmpi-dev mpich libmpich-dev slurmctld slurmd slurm-client munge
	scripts/test-cluster

test-topology: build  ## kernels of machines with two packages, NUMA nodes and hardware threads, of one CPU and of 64, in QEMU: minutes
	! command -v apt-get || apt-get install -y --no-install-recommends qemu-system-x86 busybox-static cpio
	scripts/test-topology

test-footprint: build ## size, memory, files, network and packages of the command; wants strace
	scripts/test-footprint

test-packages:        ## `cargo package` of each crate, and each compiled from its package alone
	scripts/test-packages

bundle:               ## dist/syncscope.tar.gz: the command and the GPU tests, for a machine without Rust
	scripts/setup build
	scripts/bundle

nvrtc:                ## bring NVRTC into the project's folder
	scripts/setup kernels

pages: build          ## results/*/report.html: the page of each stored run
	for run in results/*/run.json; do target/release/syncscope report "$$(dirname "$$run")" || echo "left out: $$run" >&2; done

gallery: pages        ## results/index.html: one page over all stored runs, with links to theirs, and the machines of core-to-core-latency
	rm -rf target/core-to-core
	target/release/syncscope import core-to-core-latency results/core-to-core -o target/core-to-core
	target/release/syncscope gallery results/* target/core-to-core/* -o results/index.html --title "Stored runs"

store:                ## results/NAME: a run in the form that results/README.md describes (RUN=syncscope-runs/MINE NAME=machine)
	cargo run --quiet -p syncscope-core --example store_run -- "$(RUN)" "results/$(NAME)"
