# make run: a first look. make test: every test. Both set up what they need.

PREFIX   ?= /usr/local
BIN      ?= bin
DIST     ?= dist
FUZZTIME ?= 20s
VERSION  := $(shell git describe --tags --always --dirty --abbrev=12 2>/dev/null || echo unknown)
COMMIT   := $(shell git rev-parse HEAD 2>/dev/null)
# The commit's time, for whatever has a date.
export SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || echo 0)

build_flags := -trimpath -buildvcs=false \
	-ldflags '-s -w $(foreach about,version=$(VERSION) commit=$(COMMIT) committed=$(SOURCE_DATE_EPOCH),-X \
		github.com/opmint/opmint/api.$(about))'
# What runs here while it builds for another GOARCH.
here        := env -u GOARCH go
tool        := $(here) tool -modfile=tools.mod
installed    = $(DESTDIR)$(PREFIX)

.PHONY: setup build manual run test race soak test-vm test-packages fuzz bench bench-big lint install deb rpm clean

# What the tests need besides Go: a C compiler for the race detector and, with
# OpenSSL's headers, for the reference TPM; a software TPM; curl; uuidd, which the
# daemon is measured against, and PostgreSQL; what the examples are written in; what
# doctor tells operators to type; what checks the units; a virtual machine; what makes,
# checks and installs packages, and the shells and readers of what is in them.
setup:
	@packaging/need gcc libc6-dev libssl-dev swtpm curl uuid-runtime nodejs python3-cryptography qemu-user util-linux \
		postgresql redis-server tpm2-tools socat systemd
	@vmtest/setup.sh
	@packaging/need git debootstrap lintian rpm procps man-db mandoc bash-completion fish zsh
	@packaging/testdata/root >/dev/null

build:
	CGO_ENABLED=0 go build $(build_flags) -o $(BIN)/ ./cmd/...

# Man pages and completions.
manual:
	@rm -rf $(BIN)/share
	@for program in opmint opmintd; do \
		$(here) run -tags manual $(build_flags) ./cmd/$$program \
			$(BIN)/share "$$(date -u -d @$(SOURCE_DATE_EPOCH) +%F)" || exit 1; \
	done

# A software TPM and a daemon, to try out. Ctrl-C stops both.
run: build
	@packaging/need swtpm curl
	@go build -o .cache/run/run ./examples/run
	@exec .cache/run/run

test: setup race test-vm test-packages

race:
	go test -race ./...

# In small what a year brings.
soak:
	go test -count=1 -v ./soak -names 50000000 -intents 10000

# On a real kernel with a virtual TPM, in QEMU.
test-vm:
	go test -tags vm -count=1 -timeout 20m ./vmtest/...

# Installed, upgraded and removed in a Debian of its own. Needs root.
test-packages:
	go test -tags packages -count=1 -timeout 30m ./packaging

# Every fuzz test in turn, for FUZZTIME each.
fuzz:
	@for package in $$(go list ./...); do \
		for fuzz in $$(go test -list '^Fuzz' $$package | grep '^Fuzz'); do \
			echo "$$package $$fuzz"; \
			go test -run '^$$' -fuzz "^$$fuzz$$" -fuzztime $(FUZZTIME) $$package || exit 1; \
		done; \
	done

# Ratios to peers, all measured in one run. WRITE=README.md puts the tables there.
bench:
	@packaging/need swtpm uuid-runtime postgresql redis-server
	go run ./bench $(if $(WRITE),-write $(WRITE))

# A journal with ten million intents; it takes minutes and 5 GB in TMPDIR.
bench-big:
	go run ./bench -big 10000000 $(if $(WRITE),-write $(WRITE))

lint:
	@test -z "$$(gofmt -l .)" || { gofmt -d .; exit 1; }
	go vet -tags vm,packages ./...
	go vet -tags manual ./cmd/...
	GOOS=darwin go vet ./keygen ./api
	GOOS=windows go vet ./keygen ./api
	go mod tidy -diff
	$(tool) staticcheck -tags vm,packages ./...
	@packaging/govulncheck

install: build manual
	install -Dm 755 -t $(installed)/bin $(BIN)/opmint $(BIN)/opmintd
	umask 022 && cp -R $(BIN)/share $(installed)/
	install -Dm 644 -t $(installed)/lib/systemd/system packaging/systemd/opmintd.*
	install -Dm 644 -t $(installed)/lib/systemd/user packaging/systemd/user/*
	install -Dm 644 -t $(installed)/lib/sysusers.d packaging/sysusers.d/opmint.conf
	install -Dm 644 -t $(installed)/lib/tmpfiles.d packaging/tmpfiles.d/opmint.conf
	install -Dm 644 -t $(installed)/lib/udev/rules.d packaging/udev/*.rules
	sed -i 's|/usr/bin/|$(PREFIX)/bin/|' $(installed)/lib/systemd/*/opmintd.service

# Packages of a GOARCH, into DIST. The same commit gives the same bytes anywhere.
deb rpm: export VERSION := $(VERSION)
deb rpm:
	@packaging/build $@ $(or $(GOARCH),$(shell go env GOARCH)) $(DIST)

clean:
	rm -rf bin dist .cache
