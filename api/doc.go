// Package api is how programs talk to opmintd: the data on the wire, the errors
// that both ends know, and a client in Go.
//
//	var opmint api.Client
//	names, err := opmint.Mint(ctx, api.MintRequest{Count: 3})
//
// The zero [Client] finds the daemon's socket by itself. It is plain HTTP and
// JSON, so any language gets by without this package:
//
//	curl --unix-socket /run/opmint/opmint.sock -X POST http://opmint/v1/names
//
// # What is there
//
//	request                                 answer
//	POST /v1/names?count=N&format=F         201 [Names], or one name a line
//	POST /v1/leases [LeaseRequest]          201 [Lease]
//	GET  /v1/names/{name}                   200 [NameInfo]
//	PUT  /v1/intents/{intent}               201, 200 [Intent] of [IntentRequest]
//	GET, DELETE /v1/intents/{intent}        200 [Intent], 204
//	PUT  /v1/streams/{stream}/names/{intent}
//	                                        201, 200 [StreamName]
//	DELETE /v1/streams/{stream}/seqs/{seq}  204
//	POST /v1/streams/{stream}/acked         204 of [AckRequest]
//	POST /v1/streams/{stream}/edition       201 [Edition] of [EditionRequest]
//	GET  /v1/identity                       200 [Identity]
//	POST /v1/identity/renew                 200 [Identity]
//	GET  /v1/healthz                        200 [Health]
//	GET  /v1/readyz                         200 [Readiness]
//	GET  /metrics                           200 for Prometheus, as text
//
// A program in a hurry has a [Minter], which takes leases and makes the names by
// itself:
//
//	minter := opmint.Minter()
//	defer minter.Close()
//	name, err := minter.Name(ctx)
//
// Whatever goes wrong is answered as a [Problem] (RFC 9457). Its code stands for
// an error of this package, on either side of the socket: where the server says
// [ErrOverloaded], errors.Is(err, ErrOverloaded) holds in the client.
//
// # What a client may rely on
//
// A name that was answered is the caller's alone, whether the caller read the
// answer or not. A request that was refused used up nothing. An answer that
// breaks off is an error and never looks like a shorter answer. When there is no
// daemon there are no names: nothing is made up, see [ErrNoDaemon].
package api
