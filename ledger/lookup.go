package ledger

import (
	"context"
)

// Lookup implements Ledger.
func (v *view) Lookup(ctx context.Context, r Ref) (Operation, error) {
	q, err := v.query(r)
	if err != nil {
		return Operation{}, err
	}
	answer, err := v.keeper.lookup(v.keeper.read(ctx), &q)
	return answer, unavailable(err)
}

func (k *Keeper) lookup(t *tx, q *query) (Operation, error) {
	s, o, err := t.find(q)
	if err != nil {
		return Operation{}, err
	}
	if o == nil {
		if err := t.begin(); err != nil {
			return Operation{}, err
		}
		return Operation{}, k.missing(t, s, q)
	}
	known := o.public(q.ref(), t.now, t.wall)
	if err := t.expired(s, o, q, known); err != nil {
		return Operation{}, err
	}
	known.Replayed = !o.open()
	known.Result, err = t.result(s, q.name.text, o)
	return known, err
}

// List implements Ledger.
func (v *view) List(ctx context.Context, scope string, o ListOptions) (Page, error) {
	owner, err := v.owner(scope)
	if err != nil {
		return Page{}, err
	}
	if o.Limit == 0 {
		o.Limit = 100
	}
	if o.Limit < 1 || o.Limit > MaxList {
		return Page{}, invalid("list of %d: must be 1 to %d", o.Limit, MaxList)
	}
	if o.State != "" && o.State.number() == uint64(len(states)) {
		return Page{}, invalid("state %.40q: there are %q", o.State, states)
	}
	if len(o.After) > MaxName {
		return Page{}, invalid("after a name of %d bytes, at most %d", len(o.After), MaxName)
	}
	if o.State == Unknown {
		// Those whose lease ran out just now are to be among them.
		for more := true; more && err == nil; {
			more, err = v.keeper.lapse(ctx)
		}
		if err != nil {
			return Page{}, err
		}
	}
	page, err := v.keeper.read(ctx).list(owner, scope, o)
	return page, unavailable(err)
}

// maxExamined is how many operations one List looks at.
const maxExamined = 4 * MaxList

func (t *tx) list(owner uint32, scope string, o ListOptions) (Page, error) {
	var page Page
	s, err := t.scope(owner, scope)
	if err != nil || s == nil {
		return page, err
	}
	kind := byte(kindOp)
	if o.State == Unknown {
		kind = kindUnknown
	}
	prefix, after := s.place.key(kind, ""), s.place.key(kind, o.After)
	for examined := 0; examined < maxExamined; {
		records, err := t.store.Scan(t.ctx, []byte(prefix), []byte(after), o.Limit)
		if err != nil || len(records) == 0 {
			return page, err
		}
		for _, r := range records {
			after, examined = string(r.Key), examined+1
			name := after[atName:]
			found, err := t.op(s, name)
			if err != nil {
				return page, err
			}
			if found == nil {
				continue
			}
			public := found.public(Ref{Scope: scope, Name: name}, t.now, t.wall)
			if o.State != "" && public.State != o.State || t.expired(s, found, &query{}, public) != nil {
				continue
			}
			public.Replayed = !found.open()
			page.Operations = append(page.Operations, public)
			if len(page.Operations) == o.Limit {
				page.Next = name
				return page, nil
			}
		}
	}
	page.Next = after[atName:]
	return page, nil
}
