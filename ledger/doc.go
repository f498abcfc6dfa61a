// Package ledger is the receiver's durable memory: which operations were applied,
// so that a retry is answered and never applied again.
//
//	keeper, err := ledger.Open(ctx, store, ledger.Config{})
//	go keeper.Run(ctx)
//	mine := keeper.As(uid)
//	op, err := mine.Begin(ctx, ledger.Ref{Scope: "pay", Name: name}, ledger.Attempt{
//		Holder: holder, Fingerprint: sha256.Sum256(payload),
//	})
//	switch {
//	case err != nil:                    // not run; errors.Is says why
//	case op.State == ledger.Running:    // run it, then
//		op, err = mine.Finish(ctx, op.Ref, op.Hold(), ledger.Applied, result)
//	default:                            // answer with op.Result
//	}
package ledger
