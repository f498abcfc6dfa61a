package server

import (
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// accounts keeps count of what each user has of the daemon.
type accounts struct {
	limits Limits
	owner  uint32    // the daemon's uid
	start  time.Time // of the meters' time

	mu          sync.Mutex
	all         map[uint32]*account
	sweepAt     int // how many accounts are worth a look for idle ones
	connections pool
	bodies      pool
}

// account is what a user has.
type account struct {
	of       *accounts
	uid      uint32
	requests atomic.Int64 // in flight
	names    meter

	connections, bodies int64 // guarded by of.mu
}

// minAccounts is how many accounts there can be before idle ones are dropped.
const minAccounts = 64

func newAccounts(l Limits, owner uint32) *accounts {
	l = l.withDefaults()
	reserve := min(ownerReserve, l.AllConnections/2)
	return &accounts{
		limits: l, owner: owner, start: time.Now(), all: map[uint32]*account{}, sweepAt: minAccounts,
		connections: pool{
			what: "connections", left: int64(l.AllConnections), reserved: int64(reserve), ofOne: int64(l.Connections),
		},
		bodies: pool{what: "bytes of bodies on the way", left: bodiesOfAll, ofOne: bodiesOfOne},
	}
}

// of returns a user's account.
func (as *accounts) of(uid uint32) *account {
	as.mu.Lock()
	defer as.mu.Unlock()
	return as.find(uid)
}

// find returns a user's account, for one who holds the lock.
func (as *accounts) find(uid uint32) *account {
	if a := as.all[uid]; a != nil {
		return a
	}
	if len(as.all) >= as.sweepAt {
		as.sweep()
	}
	a := &account{of: as, uid: uid}
	as.all[uid] = a
	return a
}

// sweep drops the accounts of users who have nothing and owe nothing: a new one
// would be the same.
func (as *accounts) sweep() {
	now := time.Since(as.start)
	for uid, a := range as.all {
		if a.connections == 0 && a.requests.Load() == 0 && a.names.owed(now) == 0 {
			delete(as.all, uid)
		}
	}
	as.sweepAt = max(minAccounts, 2*len(as.all))
}

// connect counts another connection of a user, until disconnect.
func (as *accounts) connect(uid uint32) (*account, error) {
	as.mu.Lock()
	defer as.mu.Unlock()
	a := as.find(uid)
	return a, as.connections.take(&a.connections, 1, a.owner())
}

func (a *account) disconnect() { a.put(&a.of.connections, &a.connections, 1) }

// holdBody counts n bytes of a body in memory, until dropBody.
func (a *account) holdBody(n int64) error {
	a.of.mu.Lock()
	defer a.of.mu.Unlock()
	return a.of.bodies.take(&a.bodies, n, a.owner())
}

func (a *account) dropBody(n int64) { a.put(&a.of.bodies, &a.bodies, n) }

func (a *account) put(p *pool, have *int64, n int64) {
	a.of.mu.Lock()
	defer a.of.mu.Unlock()
	p.give(have, n)
}

func (a *account) owner() bool { return a.uid == 0 || a.uid == a.of.owner }

// begin counts another request in flight, until end.
func (a *account) begin() error {
	most := a.of.limits.Requests
	if a.requests.Add(1) <= int64(most) {
		return nil
	}
	a.end()
	return overloaded(http.StatusTooManyRequests, limitRetry, "you have %d requests in flight, and can have no more", most)
}

func (a *account) end() { a.requests.Add(-1) }

// takeNames counts names that are about to be minted or leased.
func (a *account) takeNames(count uint64) error {
	rate := uint64(a.of.limits.Names)
	cost := time.Duration((count*uint64(time.Second) + rate - 1) / rate)
	if wait := a.names.take(time.Since(a.of.start), cost); wait > 0 {
		return overloaded(http.StatusTooManyRequests, wait, "you can have %d names a second, and had more", rate)
	}
	return nil
}

// meter bounds a rate. What is taken costs time, and there is credit for a second:
// who has used it up waits, and has all of it again after a second at rest.
type meter struct {
	paid atomic.Int64 // when what was taken is paid, in ns since accounts.start
}

// take takes something that costs so much, or returns how long to wait. What costs
// more than there is credit for can be had, too, and takes longer to be paid.
func (m *meter) take(now, cost time.Duration) (wait time.Duration) {
	for {
		paid := m.paid.Load()
		owed := max(0, time.Duration(paid)-now)
		if owed >= time.Second {
			return owed - time.Second + 1
		}
		if m.paid.CompareAndSwap(paid, int64(now+owed+cost)) {
			return 0
		}
	}
}

// owed returns the cost of what is not paid yet.
func (m *meter) owed(now time.Duration) time.Duration {
	return max(0, time.Duration(m.paid.Load())-now)
}

// count returns how many users are connected, with how many connections, and how
// many requests are in flight.
func (as *accounts) count() (users int, connections, requests int64) {
	as.mu.Lock()
	defer as.mu.Unlock()
	for _, a := range as.all {
		if a.connections > 0 {
			users++
		}
		connections += a.connections
		requests += a.requests.Load()
	}
	return users, connections, requests
}
