package ledger

// count adds an operation of that size to all that counts it, or takes it away.
func (t *tx) count(s *scope, o *op, size uint64, in bool) error {
	for _, c := range []*Counts{&s.counts, &t.head.counts} {
		switch o.state {
		case Running:
			add(&c.Running, 1, in)
		case Applied:
			add(&c.Applied, 1, in)
		case Failed:
			add(&c.Failed, 1, in)
		case Unknown:
			add(&c.Unknown, 1, in)
		}
		add(&c.Forked, bit(o.forked, 0), in)
	}
	t.change(scopeKey(s.place.owner, s.name))
	add(&t.head.bytes, size, in)
	return t.account(o.uid, func(a *account) {
		add(&a.bytes, size, in)
		add(&a.running, bit(o.state == Running, 0), in)
		add(&a.unknown, bit(o.state == Unknown, 0), in)
	})
}

func add(n *uint64, by uint64, in bool) {
	if in {
		*n += by
	} else {
		*n -= by
	}
}

// bury adds a tombstone to all that counts it, or takes it away.
func (t *tx) bury(s *scope, uid uint32, in bool) error {
	add(&s.counts.Tombstones, 1, in)
	add(&t.head.counts.Tombstones, 1, in)
	t.change(scopeKey(s.place.owner, s.name))
	return t.charge(uid, tombstoneBytes, in)
}

// charge adds bytes to what a uid uses up, or takes them away.
func (t *tx) charge(uid uint32, bytes uint64, in bool) error {
	add(&t.head.bytes, bytes, in)
	return t.account(uid, func(a *account) { add(&a.bytes, bytes, in) })
}
