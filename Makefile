# What to run. "make demo" shows Logstow at work and needs Go and make only; "make test" tests it and needs Node, too.

GO       ?= go
TOOL      = $(GO) tool -modfile=internal/tools/go.mod
PKG      ?= ./...
FUZZTIME ?= 30s
VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)

# As releases are built, so that tests, linters and programs share what is compiled: a whole build costs minutes of CPU time.
export GOFLAGS     := $(shell $(GO) env GOFLAGS) -trimpath
export CGO_ENABLED ?= 0

.PHONY: build demo test full test-times test-browser test-engines full-report test-large long short race race-short random crash soak lint fmt fuzz faults golden conformance bench man release release-check cross vuln docs-check deploy-check cover tidy check clean

build: ## the two binaries, in bin/
	$(GO) build -tags urfave_cli_no_docs -ldflags "-s -w -X main.version=$(VERSION)" -o bin/ ./cmd/...

demo: build ## the main job on the embedded store, with an answer
	sh testdata/demo.sh

testdata/azurite/node_modules: testdata/azurite/package-lock.json
	cd testdata/azurite && npm ci --no-audit --no-fund --loglevel=error
	touch $@

testdata/lezer/node_modules: testdata/lezer/package-lock.json
	cd testdata/lezer && npm ci --no-audit --no-fund --loglevel=error
	touch $@

# Vet is a stage of "make lint". Three packages at a time: tests that wait leave a core to others. Rare garbage collections save
# a fifth of the CPU time; tests of memory set GOGC themselves. Files in memory, if 4 GB are free there, save another fifth: tests
# create many that do not last. "make full" is on disk.
REQUIRED = LOGSTOW_REQUIRE_AZURITE=1 LOGSTOW_REQUIRE_LEZER=1
TESTENV  = GOGC=1000 $(REQUIRED)
TESTARGS = -vet=off -p 3 -timeout 30m
INMEMORY = TMPDIR="$${TMPDIR:-$$([ -w /dev/shm ] && [ "$$(df -Pk /dev/shm | awk 'END { print $$4 }')" -gt 4000000 ] && echo /dev/shm)}"

test: testdata/azurite/node_modules testdata/lezer/node_modules ## what a change is likely to break, the real storage service included
	$(INMEMORY) $(TESTENV) $(GO) test $(TESTARGS) $(PKG)

full: testdata/azurite/node_modules testdata/lezer/node_modules ## all steps of fault injection, more random cases, more data
	LOGSTOW_EFFORT=full $(TESTENV) $(GO) test $(TESTARGS) $(PKG)

test-times: testdata/azurite/node_modules testdata/lezer/node_modules ## "make test", with CPU seconds by package and the slowest tests
	$(INMEMORY) $(TESTENV) $(GO) run ./internal/test/times $(TESTARGS) $(PKG)

testdata/browser/node_modules: testdata/browser/package-lock.json
	cd testdata/browser && npm ci --no-audit --no-fund --loglevel=error
	touch $@

test-browser: build testdata/browser/node_modules ## the page of logq serve in Chromium (Debian: testdata/browser/install-chromium as root); LOGSTOW_SCREENSHOTS=DIR keeps pictures
	node testdata/browser/node_modules/eslint/bin/eslint.js --config testdata/browser/eslint.config.mjs serve/page/static testdata/browser
	node --test --test-concurrency=2 --test-reporter=spec testdata/browser/*.test.mjs

testdata/engines/node_modules: testdata/engines/package-lock.json
	cd testdata/engines && npm ci --no-audit --no-fund --loglevel=error
	touch $@

test-engines: build testdata/engines/node_modules testdata/azurite/node_modules ## DuckDB and ClickHouse read stores with the SQL of deploy/engines
	$(GO) run ./internal/test/azurite/cmd/azurite-run node --test --test-concurrency=1 --test-reporter=spec testdata/engines/*.test.mjs

REPORT   ?= test.json
# Files in memory if 12 GB are free there.
full-report: testdata/azurite/node_modules testdata/lezer/node_modules ## "make full"; failures are printed last, and REPORT gets all as test2json writes it
	$(subst 4000000,12000000,$(INMEMORY)) LOGSTOW_EFFORT=full $(TESTENV) $(TOOL) gotestsum --format pkgname --jsonfile $(REPORT) -- $(TESTARGS) $(PKG)

test-large: testdata/azurite/node_modules ## retention of 24,000 blobs (LOGSTOW_SERVICES: 120 of each), and killed 40 times
	$(INMEMORY) LOGSTOW_REQUIRE_AZURITE=1 LOGSTOW_EFFORT=long $(GO) test -vet=off -count=1 -timeout 30m -v -run "TestLarge|TestRetainKilled|TestMemory" ./retention ./cmd/shipper

# New data in each run, or those of one seed.
long random crash soak: export LOGSTOW_SEED ?= random
long: testdata/azurite/node_modules ## the longest forms of tests named TestLong, about three hours
	LOGSTOW_EFFORT=long LOGSTOW_REQUIRE_AZURITE=1 $(GO) test -count=1 -timeout 3h -v -run 'TestLong' $(PKG)

COUNT ?= 10
random: testdata/azurite/node_modules ## everything COUNT times, with new random data: make random COUNT=20 PKG=./field/...
	LOGSTOW_REQUIRE_AZURITE=1 $(GO) test -count=$(COUNT) -timeout 0 $(PKG)

# Without packages over a whole store, program or network input, which link much.
UNIT = $$($(GO) list $(PKG) | grep -vE '/(e2e|agent|audit|catalog|compaction|grant|input/(bulk|container/podmeta|forward|gelf|httpserver|journald|lines|listen|otlp|push)|retention|tap|upload|watch|cmd/.*|serve(/.*)?|store/azure|store/open|logql|logql/storage|internal/test/.*)$$')
short: ## units: what needs neither a service nor a whole store
	$(INMEMORY) GOGC=1000 $(GO) test $(TESTARGS) -short -skip 'Agrees?WithReference' $(UNIT)

race race-short: export CGO_ENABLED = 1
race: testdata/azurite/node_modules ## everything under the race detector
	LOGSTOW_REQUIRE_AZURITE=1 $(GO) test -race -timeout 30m $(PKG)

# Without packages that have no goroutines of their own, and the tests that short skips (internal/test/effort).
RACED    = agent audit buffer/... catalog compaction export input \
	$(addprefix input/,container/podmeta dedupe forward gelf httpserver listen relay socket stdin tail) \
	internal/retry logmetrics metrics process logql/engine query query/cache query/fetch query/merge query/source \
	segment serve/... store/... tap upload watch
race-short: testdata/azurite/node_modules ## what may race, in short forms
	$(INMEMORY) GOGC=400 $(REQUIRED) $(GO) test -vet=off -race -timeout 30m ./store/azure
	$(INMEMORY) GOGC=400 $(GO) test -vet=off -race -short -timeout 30m $(RACED:%=./%)

conformance: testdata/azurite/node_modules ## both storage backends against the shared suite
	LOGSTOW_REQUIRE_AZURITE=1 $(GO) test -count=1 ./store/...

KILLS ?= 100
crash: testdata/azurite/node_modules ## kills, lost answers and outages at length: make crash KILLS=500
	LOGSTOW_EFFORT=full LOGSTOW_REQUIRE_AZURITE=1 LOGSTOW_CRASH_KILLS=$(KILLS) LOGSTOW_OUTAGE_MB=2000 $(GO) test -count=1 -timeout 3h -v -run 'TestCrash|TestOutage|TestManyWaiting|TestTerminate|TestSecondSignal' ./e2e

DURATION ?= 2m
soak: testdata/azurite/node_modules ## a shipper under mixed load, faults and reloads: make soak DURATION=1h
	LOGSTOW_REQUIRE_AZURITE=1 LOGSTOW_SOAK=$(DURATION) $(GO) test -count=1 -timeout 0 -v -run '^TestSoak$$' ./e2e

# internal/release, internal/tools and deploy/check are modules of their own, whose dependencies are not the programs'.
LINT = $(GO) tool -modfile=$(CURDIR)/internal/tools/go.mod golangci-lint run --config $(CURDIR)/.golangci.yml ./...
lint: ## linters and formatting; release-check, cross and deploy-check run them on their modules
	$(LINT)

# make release compiles for all systems that it is made for.
CROSS ?= windows/amd64 windows/arm64 darwin/amd64 darwin/arm64
cross: ## checks the types of all packages, tests too, for systems where no tests run: make cross CROSS="freebsd/amd64 linux/arm64"
	cd internal/tools && $(LINT)
	$(GO) build -C internal/tools -o $(CURDIR)/bin/typecheck ./typecheck
	bin/typecheck $(CROSS)

fmt: ## formats all files
	$(TOOL) golangci-lint fmt ./...

# FUZZSHARE=3 is a third of the targets, another one with each commit: all run their seeds with the other tests.
FUZZSHARE ?= 1
fuzz: ## every fuzz target for FUZZTIME
	@set -e; n=$$(git rev-list --count HEAD 2>/dev/null || echo 0); \
	for f in $$(grep -rl --include=*_test.go '^func Fuzz' . | sort); do \
		for target in $$(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\).*/\1/p' $$f); do \
			n=$$((n + 1)); [ $$((n % $(FUZZSHARE))) -eq 0 ] || continue; \
			echo "== $$(dirname $$f) $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) ./$$(dirname $$f); \
		done; done

N        ?= 40
faults: testdata/azurite/node_modules ## N deliberate faults that tests must catch: make faults PKG=./field/where SEED=7 N=40 TESTS=./query; LEVELS=1 tells what only "make full" catches
	LOGSTOW_REQUIRE_AZURITE=1 $(GO) run ./internal/test/mutate/cmd/faults -n $(N) $(if $(SEED),-seed $(SEED)) $(if $(TESTS),-tests "$(TESTS)") $(if $(LEVELS),-levels -timeout 6m) $(if $(FILES),-files '$(FILES)') $(PKG)

golden: testdata/azurite/node_modules ## rewrites golden files and transcripts, but no old version of a format, and shows what changed
	$(GO) test -run Golden ./query/output ./segment ./tableindex ./watch ./buffer/wal ./buffer/sealed ./buffer/unindexed ./retention ./store/local ./metrics ./input/multiline -update
	$(GO) test -run '^(TestAnswers|TestPictures|TestAnalytics|TestFind|TestRequests)$$' ./cmd/logq ./cmd/shipper ./query/foreign ./internal/test/mutate ./serve/loki -update
	LOGSTOW_REQUIRE_AZURITE=1 $(GO) test ./e2e -run '^(TestTranscripts|TestEntities|TestEarlierBuffer)$$' -update
	git diff --stat -- testdata "*/testdata/*"

VICTORIALOGS ?=
bench: testdata/azurite/node_modules ## the speed tables: whole processes, as ratios; queries before and after compaction; beside the program VICTORIALOGS, if set
	$(GO) run ./internal/test/bench
	$(if $(VICTORIALOGS),$(GO) run ./internal/test/bench -runs 5 -victorialogs $(VICTORIALOGS))
	$(GO) run ./internal/test/azurite/cmd/azurite-run $(GO) run ./internal/test/bench -fleet 2550

man: build ## manual pages, in bin/
	bin/shipper man > bin/shipper.1
	bin/logq man > bin/logq.1

EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || echo 0)
release: ## archives for all platforms, deb and rpm, images, with bills of materials and sums, in dist/
	$(GO) -C internal/release run . -root $(CURDIR) -version $(VERSION) -epoch $(EPOCH) -out dist

PLATFORMS ?= linux/amd64
release-check: ## makes a release of PLATFORMS twice, compares them, and installs deb and rpm in a clean Debian (as root, with mmdebstrap)
	cd internal/release && $(LINT) && $(GO) test -count=1 .
	$(GO) -C internal/release build -o $(CURDIR)/bin/release .
	for n in 1 2; do bin/release -platforms $(PLATFORMS) -version $(VERSION) -epoch $(EPOCH) -out bin/release-$$n || exit 1; done
	diff -r bin/release-1 bin/release-2
	deploy/packages/check-packages bin/release-1/logstow_*_amd64.deb bin/release-1/logstow-*.x86_64.rpm

vuln: ## known vulnerabilities in what the programs call (needs vuln.go.dev, or VULNDB=file:///… with a copy)
	$(TOOL) govulncheck $(if $(VULNDB),-db $(VULNDB)) ./...

docs-check: ## every command, link and number of the docs that can be checked offline
	$(GO) test -count=1 ./internal/test/docscheck

deploy-check: ## manifests, units, alert rules, dashboard and data source
	cd deploy/check && $(LINT) && $(GO) test -count=1 ./...

cover: ## test coverage by package
	$(GO) test -short -cover $(PKG)

# -e: tests of dependencies, which nobody runs here, may need modules that a proxy does not have.
tidy: ## go.mod holds what is used, no more
	$(GO) mod tidy -e -diff

check: lint tidy race ## what a change must pass
	$(MAKE) fuzz FUZZTIME=20000x

clean:
	rm -rf bin demo-store
