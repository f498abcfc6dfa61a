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
//	PUT  /v1/operations/{scope}/{name}      201, 200 [Operation] of [BeginRequest]
//	GET  /v1/operations/{scope}/{name}      200 [Operation]
//	POST /v1/operations/{scope}/{name}/extend
//	                                        200 [Operation] of [ExtendRequest]
//	POST /v1/operations/{scope}/{name}/finish
//	                                        200 [Operation] of [FinishRequest]
//	POST /v1/operations/{scope}/{name}/settle
//	                                        200 [Operation] of [SettleRequest]
//	POST /v1/operations/{scope}             200 [Absorbed] of [AbsorbRequest]
//	GET  /v1/operations/{scope}?state=S&after=NAME&limit=N
//	                                        200 [Operations]
//	GET, PUT /v1/scopes/{scope}             200 [Scope] of [ScopeRequest]
//	POST /v1/ledger/accept                  204
//	GET  /v1/log?after=N&wait=D             200, one event a line
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
// A receiver uses the [Client] as the [ledger.Ledger] that it is:
//
//	op, err := opmint.Begin(ctx, ledger.Ref{Scope: "pay", Name: name}, attempt)
//
// What belongs to a user (intents, streams, operations, events) is the caller's own.
// Root may say whose: ?uid=N in the URL, [Client].Owner in Go.
//
// Whatever goes wrong is answered as a [Problem] (RFC 9457). Its code stands for
// an error of this package, on either side of the socket: where the server says
// [ErrOverloaded], errors.Is(err, ErrOverloaded) holds in the client. What the ledger
// refuses is a [ledger.Refusal] in the client too, and errors.Is holds with the errors
// of package ledger; a daemon that is not there, or does not answer, is a
// [ledger.ErrUnavailable] besides.
//
// # What a client may rely on
//
// A name that was answered is the caller's alone, whether the caller read the
// answer or not. A request that was refused used up nothing. An answer that
// breaks off is an error and never looks like a shorter answer. When there is no
// daemon there are no names: nothing is made up, see [ErrNoDaemon].
package api
