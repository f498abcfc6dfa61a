package ledger

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// Scope implements Ledger.
func (v *view) Scope(ctx context.Context, name string) (Scope, error) {
	owner, err := v.owner(name)
	if err != nil {
		return Scope{}, err
	}
	s, err := v.keeper.read(ctx).scope(owner, name)
	switch {
	case err != nil:
		return Scope{}, unavailable(err)
	case s == nil:
		s = &scope{name: name, horizon: v.keeper.horizon}
	}
	return s.public(), nil
}

func (s *scope) public() Scope {
	return Scope{Name: s.name, Horizon: time.Duration(s.horizon) * time.Millisecond, Counts: s.counts}
}

// SetHorizon implements Ledger.
func (v *view) SetHorizon(ctx context.Context, name string, horizon time.Duration) (Scope, error) {
	owner, err := v.owner(name)
	if err != nil {
		return Scope{}, err
	}
	if err := validHorizon(horizon); err != nil {
		return Scope{}, err
	}
	name = strings.Clone(name)
	var answer Scope
	err = v.keeper.do(ctx, &call{
		uid: v.uid, ops: 16, size: 2048,
		decide: func(t *tx) error {
			s, err := v.keeper.setHorizon(t, &query{uid: v.uid, owner: owner, scope: name}, horizon.Milliseconds())
			if err == nil {
				answer = s.public()
			}
			return err
		},
	})
	if err != nil {
		return Scope{}, err
	}
	return answer, nil
}

func (k *Keeper) setHorizon(t *tx, q *query, horizon int64) (*scope, error) {
	s, err := t.scope(q.owner, q.scope)
	if err != nil {
		return nil, err
	}
	if s == nil {
		used, err := t.usage(q.uid)
		if err != nil {
			return nil, err
		}
		if err := k.roomForScope(q, used); err != nil {
			return nil, err
		}
		return t.makeScope(q.uid, q.owner, q.scope, horizon)
	}
	if s.horizon == horizon {
		return s, nil
	}
	// What is expired by the old horizon stays so.
	set := &setting{id: s.place.scope, uid: s.uid, horizon: horizon, cut: max(s.expired(t.now), 0)}
	err = t.emit(q.owner, &event{
		what: whatScope, by: 1 + uint64(q.uid), scope: s.name, items: []item{{kind: kindScope, rec: set}},
	})
	return s, err
}

func validHorizon(horizon time.Duration) error {
	if horizon < MinHorizon || horizon > MaxHorizon {
		return invalid("horizon of %v: must be %v to %v", horizon, MinHorizon, MaxHorizon)
	}
	return nil
}

// roomForScope says why a user cannot make another scope.
func (k *Keeper) roomForScope(q *query, used *account) error {
	if used.scopes < k.limits.Scopes {
		return nil
	}
	return q.full(time.Minute, "made %d scopes, which is all it may", used.scopes)
}

// full says that a user has used up what it may.
func (q *query) full(wait time.Duration, format string, args ...any) error {
	return &Refusal{
		Reason: ErrOverloaded, Own: true, RetryAfter: wait,
		Detail: fmt.Sprintf("uid %d ", q.uid) + fmt.Sprintf(format, args...),
	}
}
