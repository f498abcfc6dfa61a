module github.com/opmint/opmint

go 1.26.0

require (
	github.com/google/go-tpm v0.9.8
	github.com/google/go-tpm-tools v0.4.8
	github.com/google/uuid v1.6.0
	github.com/oklog/ulid/v2 v2.1.2
	github.com/rogpeppe/go-internal v1.16.0
	github.com/spf13/cobra v1.10.2
	go.uber.org/goleak v1.3.0
	golang.org/x/sys v0.50.0
	golang.org/x/tools v0.36.0
	pgregory.net/rapid v1.3.0
)

require go.etcd.io/bbolt v1.5.0

require (
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	github.com/spf13/pflag v1.0.10 // indirect
	github.com/stretchr/testify v1.12.1 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)
