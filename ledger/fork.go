package ledger

import "github.com/opmint/opmint/keygen"

// fork returns another name that has the identity, epoch and seq of this one, if
// there is one, and marks that one.
func (k *Keeper) fork(t *tx, s *scope, q *query) (string, error) {
	other, err := t.fork(s, q.name.text)
	if err != nil || other == "" {
		return "", err
	}
	t.forks++
	o, err := t.op(s, other)
	if err != nil || o == nil || o.forked {
		return other, err
	}
	next := *o
	next.forked = true
	return other, t.emit(q.owner, &event{
		what: whatForked, by: 1 + uint64(q.uid), scope: s.name, items: []item{{kind: kindOp, key: other, rec: &next}},
	})
}

// noteSeq lets fork find a name that is not in the store yet.
func (t *tx) noteSeq(s *scope, n name) { t.seqs[s.place.key(kindOp, n.text[:tagged])] = n.text }

// vacant reports whether the scope holds neither a minted name nor any of its forks, nor
// a child of them.
func (t *tx) vacant(s *scope, n name) (bool, error) {
	prefix := s.place.key(kindOp, n.text[:tagged])
	if t.seqs[prefix] != "" {
		return false, nil
	}
	records, err := t.store.Scan(t.ctx, []byte(prefix), nil, 1)
	return len(records) == 0, err
}

// fork returns a name of the scope with the identity, epoch and seq of the given
// one and another tag, or "".
func (t *tx) fork(s *scope, text string) (string, error) {
	prefix := s.place.key(kindOp, text[:tagged])
	if other, ok := t.seqs[prefix]; ok && other != text {
		return other, nil
	}
	// The first that is there may be a child of this name.
	for _, after := range []string{"", s.place.key(kindOp, text[:tagEnd]) + "\xff"} {
		records, err := t.store.Scan(t.ctx, []byte(prefix), []byte(after), 1)
		if err != nil || len(records) == 0 {
			return "", err
		}
		if other := string(records[0].Key[atName:]); other[:tagEnd] != text[:tagEnd] {
			return other[:keygen.Length], nil
		}
	}
	return "", nil
}
