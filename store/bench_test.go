package store_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/opmint/opmint/store"
)

func openBench(b *testing.B, path string) *store.Bolt {
	b.Helper()
	s, err := store.Open(b.Context(), path, store.Options{Kind: store.Ledger})
	if err != nil {
		b.Fatal(err)
	}
	return s
}

// record is about as large as that of an operation. Its key sorts by i.
func record(i uint64) (key, value []byte) {
	key = binary.BigEndian.AppendUint64([]byte("o/shared.scope/h1-emhwdgg60rf5x9vn4a-"), i)
	return append(key, "-r4trds3k1d7z9ygzca"...), make([]byte, 120)
}

// fill makes n records, many a commit.
func fill(b *testing.B, s store.Store, n int) {
	b.Helper()
	for i := 0; i < n; {
		var writes []store.Write
		for ; i < n && len(writes) < 20000; i++ {
			key, value := record(uint64(i))
			writes = append(writes, store.Write{Key: key, Value: value})
		}
		if err := s.Commit(context.Background(), nil, writes); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCommit creates records, one a commit; its rate is that of all
// writers together.
func BenchmarkCommit(b *testing.B) {
	for _, writers := range []int{1, 16, 64} {
		b.Run(fmt.Sprint("writers=", writers), func(b *testing.B) {
			s := openBench(b, filepath.Join(b.TempDir(), "ledger.db"))
			defer s.Close()
			var next atomic.Int64
			var wait sync.WaitGroup
			b.ResetTimer()
			for range writers {
				wait.Go(func() {
					for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
						key, value := record(uint64(i))
						err := s.Commit(context.Background(), []store.Check{{Key: key}}, []store.Write{{Key: key, Value: value}})
						if err != nil {
							b.Error(err)
						}
					}
				})
			}
			wait.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commits/s")
		})
	}
}

func BenchmarkGet(b *testing.B) {
	s := openBench(b, filepath.Join(b.TempDir(), "ledger.db"))
	defer s.Close()
	fill(b, s, 100000)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for i := uint64(0); pb.Next(); i += 7919 {
			key, _ := record(i % 100000)
			if value, err := s.Get(context.Background(), key); err != nil || len(value) == 0 {
				b.Fatal(value, err)
			}
		}
	})
}

// BenchmarkOpen opens a store that was closed, not one that crashed.
func BenchmarkOpen(b *testing.B) {
	for _, records := range []int{1000, 1000000} {
		b.Run(fmt.Sprint("records=", records), func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "ledger.db")
			s := openBench(b, path)
			fill(b, s, records)
			for b.Loop() {
				b.StopTimer()
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				s = openBench(b, path)
			}
			s.Close()
		})
	}
}
