package ledger_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/opmint/opmint/ledger"
	"github.com/opmint/opmint/store"
)

func openBolt(b testing.TB, c ledger.Config) (*ledger.Keeper, *store.Bolt) {
	b.Helper()
	s, err := store.Open(b.Context(), filepath.Join(b.TempDir(), "ledger.db"), store.Options{Kind: store.Ledger})
	if err != nil {
		b.Fatal(err)
	}
	k, err := ledger.Open(b.Context(), s, c)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := k.Close(context.Background()); err != nil {
			b.Error(err)
		}
		s.Close()
	})
	return k, s
}

// BenchmarkOperation begins and finishes operations with a small result.
func BenchmarkOperation(b *testing.B) {
	for _, clients := range []int{1, 16, 64} {
		b.Run(fmt.Sprint("clients=", clients), func(b *testing.B) {
			k, _ := openBolt(b, ledger.Config{})
			result := &ledger.Result{Status: 200, Body: []byte(`{"ok":true,"id":"ch_3J2xyz"}`)}
			var next atomic.Uint64
			var wait sync.WaitGroup
			b.ResetTimer()
			for range clients {
				wait.Go(func() {
					me := k.As(1000)
					for i := next.Add(1); i <= uint64(b.N); i = next.Add(1) {
						op, err := me.Begin(b.Context(), ref(mint("bench", 1, i)), attempt("holder-0123456789"))
						if err == nil {
							_, err = me.Finish(b.Context(), op.Ref, op.Hold(), ledger.Applied, result)
						}
						if err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wait.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "ops/s")
		})
	}
}

// BenchmarkAbsorb absorbs names, many at a time and one by one.
func BenchmarkAbsorb(b *testing.B) {
	for _, size := range []int{1, 10_000} {
		b.Run(fmt.Sprint("names=", size), func(b *testing.B) {
			k, _ := openBolt(b, ledger.Config{})
			me := k.As(1000)
			names := uint64(0)
			for b.Loop() {
				items := make([]ledger.Item, size)
				b.StopTimer()
				for i := range items {
					items[i] = ledger.Item{Name: mint("bench", 1, names), Fingerprint: print("payload")}
					names++
				}
				b.StartTimer()
				if _, err := me.Absorb(b.Context(), "m", items); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(names)/b.Elapsed().Seconds(), "names/s")
		})
	}
}

// BenchmarkReplay repeats an operation that has ended.
func BenchmarkReplay(b *testing.B) {
	k, _ := openBolt(b, ledger.Config{})
	me := k.As(1000)
	name := mint("bench", 1, 1)
	run(b, me, name)
	for b.Loop() {
		if op, err := me.Begin(b.Context(), ref(name), attempt("other")); err != nil || !op.Replayed {
			b.Fatal(op, err)
		}
	}
}
