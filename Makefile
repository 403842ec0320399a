# The targets that people use. Each installs what it needs (.ci/deps) and works
# in a fresh clone on Debian with Go and make.

GO      ?= go
BIN     := bin/cdfz
HOST    := bin/cdfz-plugin-host
export CGO_ENABLED ?= 0
# The same compiled packages for the program and the tests, in any folder.
export GOFLAGS := $(strip $(shell $(GO) env GOFLAGS 2>/dev/null) -trimpath)

.PHONY: build host native install uninstall wheel js-wasm js-pack test test-js test-native test-foreign test-slurm test-zarr3 test-corpus test-ncapi test-fleet race arch fuzz seeds lint demo conformance site bench bench-access bench-filters bench-ratio mutants soak release version licences test-installed man clean

# Without the symbol table and DWARF the program is a quarter smaller. Stack traces keep names and lines.
STRIPPED := -ldflags '-s -w'

build:
	$(GO) build $(STRIPPED) -o $(BIN) ./cmd/cdfz

# The program that loads HDF5 plugins. It exists only for Linux on amd64 and arm64.
host:
	@case "$$($(GO) env GOOS)/$$($(GO) env GOARCH)" in \
	linux/amd64|linux/arm64) set -x; $(GO) build $(STRIPPED) -tags plugins -o $(HOST) ./cmd/cdfz-plugin-host ;; \
	esac

# The C library (docs/c.md), and where their headers are, the plugin for HDF5 (docs/hdf5.md) and the
# format for netCDF-C (docs/netcdf.md). Nothing else needs a C compiler.
native:
	.ci/deps native
	$(MAKE) -C c all if-there OUT="$(abspath bin)"

# The binaries, manual pages and completions. PREFIX is the target; packagers prepend
# DESTDIR.
PREFIX ?= /usr/local
install: build host man
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/share/man/man1 \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions \
		$(DESTDIR)$(PREFIX)/share/zsh/site-functions \
		$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d
	install -m 755 $(BIN) $(DESTDIR)$(PREFIX)/bin/cdfz
	! test -f $(HOST) || install -m 755 $(HOST) $(DESTDIR)$(PREFIX)/bin/cdfz-plugin-host
	install -m 644 bin/man/*.1 $(DESTDIR)$(PREFIX)/share/man/man1
	$(BIN) completion bash >$(DESTDIR)$(PREFIX)/share/bash-completion/completions/cdfz
	$(BIN) completion zsh >$(DESTDIR)$(PREFIX)/share/zsh/site-functions/_cdfz
	$(BIN) completion fish >$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/cdfz.fish

uninstall:
	cd $(DESTDIR)$(PREFIX) && rm -f bin/cdfz bin/cdfz-plugin-host share/man/man1/cdfz.1 share/man/man1/cdfz-*.1 \
		share/bash-completion/completions/cdfz share/zsh/site-functions/_cdfz share/fish/vendor_completions.d/cdfz.fish \
		include/cdfz.h include/lorenz.h lib/libcdfz.* lib/libnccdfz.so lib/hdf5/plugin/libh5lorenz*.so \
		lib/pkgconfig/cdfz.pc lib/pkgconfig/nccdfz.pc share/man/man3/cdfz.3 share/man/man3/nccdfz.3

# The Python package with the program and the decoder in C in it, for Linux on this processor.
WHEEL := bin/python
wheel:
	rm -rf $(WHEEL)
	mkdir -p bin
	cp -r python $(WHEEL)
	cp LICENSE $(WHEEL)
	$(GO) build $(STRIPPED) -o $(WHEEL)/cdfz/bin/cdfz ./cmd/cdfz
	CDFZ_C="$(abspath c)" CDFZ_PLATFORM=manylinux2014_$$(uname -m) /usr/bin/python3 -m pip wheel --no-index --no-build-isolation --no-deps -w bin $(WHEEL)

# The decoder of blocks of the package in js/, which is committed, and the package as npm pack makes it. CHECK=--check
# only compares.
JSWASM := clang --target=wasm32 -msimd128 -std=c11 -O2 -DLORENZ_SMALL -fno-unroll-loops -fno-vectorize -fno-slp-vectorize -ffp-contract=off -mbulk-memory -nostdlib -isystem wasm
js-wasm:
	.ci/deps js-wasm
	$(MAKE) -C c wasm OUT="$(abspath bin/js)" WASM="$(JSWASM)" EXPORTS="lorenz_parse lorenz_size lorenz_scratch_size lorenz_decode __heap_base"
	node js/tools/wasm.mjs bin/js/lorenz.wasm $(CHECK)

js-pack:
	.ci/deps js
	mkdir -p $(DIST)
	cp LICENSE js/LICENSE
	cd js && npm pack --silent --pack-destination "$(abspath $(DIST))"

# Fewer collections of garbage, which take much of the time of the tests.
TESTED := GOGC=400 $(GO) test -timeout 1h

# All tests, including those with real programs as judges. The package that takes longest is first.
test:
	.ci/deps test
	$(TESTED) -tags 'judge man' ./cmd/cdfz ./... ./testdata/gen ./testdata/corpus ./testdata/seeds ./testdata/conformance
	.ci/js
	$(GO) test -tags purego -run 'Shuffle|Vectors|Load|Random|Floats|Sum|FilterOutcomes' ./filters/all ./filters/internal/transpose ./filters/all/internal/fletcher ./slab ./lorenz ./archive/internal/crc

# Only the package in js/, which is a part of make test.
test-js:
	.ci/deps js
	.ci/js

# The C library: all builds against packages lorenz and archive, and the fuzz targets. The 200,000 damaged blocks
# for each build of make test-native MUTANTS=200000 FUZZSECONDS=600 take more than an hour.
MUTANTS ?= 500
FUZZSECONDS ?= 2
test-native:
	.ci/deps test-native
	.ci/native $(MUTANTS) $(FUZZSECONDS)

# The C library on processors of other kinds, under qemu, which is slow.
test-foreign:
	.ci/deps test-foreign
	.ci/foreign

# The job arrays of docs/clusters.md on a real Slurm, whose tasks and nodes are taken away meanwhile.
SLURMFILES ?= 500
ATTACKS ?= 60
test-slurm:
	.ci/deps slurm
	.ci/slurm $(SLURMFILES) $(ATTACKS)

# Zarr format 3 with zarr-python 3 of a later Debian, in a folder with a system of its own: the first run installs it.
SUITE ?= trixie
test-zarr3:
	.ci/deps test-zarr3
	.ci/zarr3 $(SUITE)

# The tests over the corpus that CDFZ_CORPUS names: a folder with manifest.json.
test-corpus:
	@test -n "$(CDFZ_CORPUS)" || { echo "CDFZ_CORPUS is not set: it names the folder with manifest.json" >&2; exit 1; }
	@test -f "$(CDFZ_CORPUS)/manifest.json" || { echo "$(CDFZ_CORPUS)/manifest.json is missing" >&2; exit 1; }
	.ci/deps corpus
	CDFZ_CORPUS="$(abspath $(CDFZ_CORPUS))" $(TESTED) -tags 'judge corpus' -run Corpus \
		$$(grep -rlE --include='*_test.go' --exclude-dir=ncapi '^//go:build corpus' . | xargs -n 1 dirname | sort -u)

# The pipelines of docs/fleet.md on Beam's local runner, with workers and cdfz killed meanwhile, in a
# nested module, which lint leaves out: to compile Beam takes minutes. CDFZ_SOAK=1 has the full counts.
test-fleet:
	cd fleet && $(GO) vet ./... && $(GO) run honnef.co/go/tools/cmd/staticcheck@v0.8.2 ./... && $(GO) test -v -timeout 2h ./...

# archive/ncapi with a checkout of go-native-netcdf, which the Go proxy does not serve.
# GO_THROWER names a checkout of go-thrower. The default is go-thrower beside the other one.
test-ncapi:
	NATIVE_NETCDF="$(NATIVE_NETCDF)" GO_THROWER="$(GO_THROWER)" .ci/ncapi

# The tests with several goroutines, of the packages that start them. The detector takes much memory.
CONCURRENT := ./archive ./archive/verify ./archive/joined ./cmd/cdfz ./internal/ioat ./archive/archivefs ./cmd/cdfz/internal/fusefs ./remote ./internal/s3 ./cmd/cdfz/internal/serve/server
RACED := Concurrent|Crowd|Stream|URL|Remote|Wide|Parts|Round|Shared|Workers|Jobs|Interrupted|Objects|Prefix$$|Auth|Catalog|Files|Upload|Chunks|Joined|Tree
race:
	.ci/deps race
	CGO_ENABLED=1 $(GO) test -race -short -run '$(RACED)' -skip 'Memory|Cost' $(CONCURRENT)
	CGO_ENABLED=1 $(GO) test -race -run Concurrent ./filters/all

# A short fuzz of every target; FUZZTIME=10m for a long one.
FUZZTIME ?= 5s
fuzz:
	.ci/fuzz $(FUZZTIME)

# The conformance suite for readers in any language, as an archive (testdata/conformance/README.md).
DIST ?= dist
conformance:
	$(GO) run ./testdata/conformance/make -o $(DIST) $(if $(VERSION),-version $(VERSION))

# The pages of docs/ as a site in dist/site, searchable, without anything from the network. Links are checked.
site:
	.ci/deps site
	.ci/site/build $(DIST)/site

# Rewrites the seeds of the fuzz targets in testdata/fuzz of each package.
seeds:
	$(GO) test -run '^Fuzz' $$(grep -rl --include='*_test.go' cdfz/testdata/seeds . | xargs -n 1 dirname | sort -u) -seeds

# The filters with 32 bits, on arm, since not all kernels run programs for 386. The codec on arm64, which can
# fuse floating-point operations, and package archive in a browser's machine.
arch:
	.ci/deps arch
	GOARCH=arm $(GO) test -exec qemu-arm-static -short $$($(GO) list ./lorenz/internal/... | grep -v -e masks$$ -e matches$$)
	GOARCH=arm $(GO) test -exec qemu-arm-static ./lorenz -run 'Vectors|SpecialFloats|Transforms|Mode|Parts|Cells'
	GOARCH=arm $(GO) test -exec qemu-arm-static -run FilterOutcomes ./filters/all
	GOARCH=arm $(GO) build -o /dev/null ./cmd/cdfz
	GOOS=js GOARCH=wasm $(GO) test -short -exec "$$($(GO) env GOROOT)/lib/wasm/go_js_wasm_exec" ./archive -run 'TestLayouts|TestOptionErrors|Example'
	GOARCH=arm64 $(GO) test -exec qemu-aarch64-static ./lorenz -run 'Vectors|SpecialFloats|Transforms'

lint:
	.ci/lint

demo: build
	.ci/demo $(BIN)

# cdfz and its peers in one run; see bench/README.md. BENCHDIR needs about 4 GB.
BENCHDIR ?= .cache
bench: build
	.ci/deps bench
	mkdir -p $(BENCHDIR)
	test -f $(BENCHDIR)/big.nc || $(GO) run ./bench/tile -o $(BENCHDIR)/big.nc
	$(GO) run ./bench/peers $(BENCHFLAGS) $(BENCHDIR)/big.nc

bench-access: build
	.ci/deps bench
	mkdir -p $(BENCHDIR)
	test -f $(BENCHDIR)/big.nc || $(GO) run ./bench/tile -o $(BENCHDIR)/big.nc
	$(GO) run ./bench/access $(BENCHFLAGS) $(BENCHDIR)/big.nc

# Speed and ratio of each filter, compared with numcodecs, HDF5's filters and C-Blosc, with
# and without assembly.
bench-filters:
	.ci/deps bench-filters
	mkdir -p $(BENCHDIR)
	$(GO) run ./bench/filters -out $(BENCHDIR)/filters $(BENCHFLAGS)
	$(GO) run -tags purego ./bench/filters -only shuffle -out $(BENCHDIR)/filters-purego $(BENCHFLAGS)

# Ratios of cdfz and its peers over ferret-datasets and CDFZ_CORPUS, if it is set.
# The sizes of peers are measured once, which takes half an hour on two cores.
bench-ratio:
	.ci/deps bench-ratio
	mkdir -p $(BENCHDIR)
	$(GO) run ./bench/ratio -cache $(BENCHDIR)/ratio-peers.tsv -out $(BENCHDIR)/ratio $(BENCHFLAGS)

# Whether the test vectors find each check of the readers that is switched off.
mutants:
	.ci/deps mutants
	$(GO) run ./testdata/mutants
	/usr/bin/python3 testdata/mutants/python.py

# The full counts, for hours: the log has the seconds of each part. They take longer if
# CDFZ_CORPUS is set. Every fuzz target takes half of SOAKFUZZ more. CDFZ_SOAK=15m makes the
# two tests that attack archives shorter than an hour. PARTS="mutants fuzz" runs those of .ci/soak only.
SOAKFUZZ ?= 1m
soak:
	CDFZ_CORPUS="$(if $(CDFZ_CORPUS),$(abspath $(CDFZ_CORPUS)))" .ci/soak $(SOAKFUZZ) $(PARTS)

# What a release consists of, in dist/, from the last commit (docs/releasing.md). ONLY=linux/amd64 makes what one system needs.
release:
	@test -n "$(VERSION)" || { echo "VERSION is not set: make release VERSION=1.0.0" >&2; exit 1; }
	.ci/deps release
	$(GO) -C release run . -version "$(VERSION)" -only "$(ONLY)" -o "$(abspath $(DIST))"

# Installs dist/ in new systems of Debian, and uses it there, under qemu, under wine and in a container. Needs root, and takes
# some minutes. Without dist/, it makes one of the version of the sources.
SUITES ?= bookworm trixie
test-installed:
	.ci/deps installed
	test -d $(DIST) || $(MAKE) release VERSION="$$(sed -n 's/^const Version = "\(.*\)"/\1/p' archive/internal/plan/version.go)"
	.ci/installed $(DIST) $(SUITES)

# Writes VERSION into all files that name it.
version:
	$(GO) -C release run . version "$(VERSION)"

# Writes what cdfz version --licenses prints, after a change of go.mod.
licences:
	$(GO) -C release run . licences

man:
	rm -rf bin/man
	mkdir -p bin/man
	$(GO) run -tags man ./cmd/cdfz man bin/man

clean:
	rm -rf bin .cache
