package ledger_test

import (
	"context"
	"crypto/sha256"
	"fmt"

	"github.com/opmint/opmint/ledger"
	"github.com/opmint/opmint/store/storetest"
)

// A charge is sent twice, since its first answer was lost. It is made once.
func Example() {
	ctx := context.Background()
	keeper, err := ledger.Open(ctx, storetest.NewMemory(), ledger.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	mine := keeper.As(1000)
	payload := []byte(`{"amount":"10.00"}`)
	for attempt := range 2 {
		op, err := mine.Begin(ctx, ledger.Ref{Scope: "pay", Name: "order 7"}, ledger.Attempt{
			Holder: fmt.Sprint("attempt ", attempt), Fingerprint: sha256.Sum256(payload),
		})
		switch {
		case err != nil:
			fmt.Println("not run:", err)
		case op.State == ledger.Running:
			fmt.Println("charged")
			_, err = mine.Finish(ctx, op.Ref, op.Hold(), ledger.Applied, &ledger.Result{Body: []byte("receipt 1")})
			if err != nil {
				fmt.Println(err)
			}
		default:
			fmt.Printf("%s before: %s\n", op.State, op.Result.Body)
		}
	}
	// Output:
	// charged
	// applied before: receipt 1
}
