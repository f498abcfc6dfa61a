# make run: a first look. make test: every test. Both set up what they need.

PREFIX   ?= /usr/local
FUZZTIME ?= 20s
VERSION  := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)

build_flags := -trimpath -ldflags '-X github.com/opmint/opmint/release.version=$(VERSION)'
tool        := go tool -modfile=tools.mod

.PHONY: setup build run test race soak test-vm fuzz bench lint install clean

# What the tests need besides Go: a C compiler for the race detector and, with
# OpenSSL's headers, for the reference TPM; a software TPM; curl; uuidd, which the
# daemon is measured against; what the examples are written in; what doctor tells
# operators to type; a virtual machine.
setup:
	@packaging/need gcc libc6-dev libssl-dev swtpm curl uuid-runtime nodejs python3-cryptography qemu-user util-linux \
		tpm2-tools socat
	@vmtest/setup.sh

build:
	CGO_ENABLED=0 go build $(build_flags) -o bin/ ./cmd/...

# A software TPM and a daemon, to try out. Ctrl-C stops both.
run: build
	@packaging/need swtpm curl
	@go build -o .cache/run/run ./examples/run
	@exec .cache/run/run

test: setup race test-vm

race:
	go test -race ./...

# In small what a year brings.
soak:
	go test -count=1 -v ./soak -names 50000000

# On a real kernel with a virtual TPM, in QEMU.
test-vm:
	go test -tags vm -count=1 -timeout 20m ./vmtest/...

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
	@packaging/need swtpm uuid-runtime
	go run ./bench $(if $(WRITE),-write $(WRITE))

lint:
	@test -z "$$(gofmt -l .)" || { gofmt -d .; exit 1; }
	go vet -tags vm ./...
	GOOS=darwin go vet ./keygen ./api
	GOOS=windows go vet ./keygen ./api
	go mod tidy -diff
	$(tool) staticcheck -tags vm ./...
	@packaging/govulncheck

install: build
	install -d $(DESTDIR)$(PREFIX)/bin
	install bin/opmint bin/opmintd $(DESTDIR)$(PREFIX)/bin/

clean:
	rm -rf bin .cache
