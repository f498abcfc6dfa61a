package ledger

import (
	"context"

	"github.com/opmint/opmint/keygen"
)

// Suspect says that the ledger may be an older copy of itself, as Config.Restored
// does: names it has not seen, of epochs it could have seen, are ErrOutcomeUnknown
// from now on. The uid is of who says it.
func (k *Keeper) Suspect(ctx context.Context, uid uint32) error {
	return k.setSuspect(ctx, uid, true, whatSuspect)
}

// Accept takes a suspect ledger as it is: names it has not seen are fresh again.
// The uid is of who says it.
func (k *Keeper) Accept(ctx context.Context, uid uint32) error {
	return k.setSuspect(ctx, uid, false, whatAccepted)
}

func (k *Keeper) setSuspect(ctx context.Context, uid uint32, suspect bool, w what) error {
	return k.do(ctx, &call{
		uid: uid, ops: 4, size: 1024,
		decide: func(t *tx) error {
			if t.head.suspect == suspect {
				return nil
			}
			t.head.suspect = suspect
			return t.emitMark(sharedOwner, w, 1+uint64(uid))
		},
	})
}

// maxClaims is how many identities Claimed remembers.
const maxClaims = 1024

// Claimed says that an epoch of an identity was claimed just now, so that its names
// and later ones cannot have been in what a suspect ledger lost: they are fresh. The
// Keeper remembers it until it is closed.
func (k *Keeper) Claimed(id keygen.Identity, epoch uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if first, known := k.claims[id]; known {
		epoch = min(first, epoch)
	} else if len(k.claims) == maxClaims {
		return
	}
	k.claims[id] = epoch
}

// claimedSince reports whether a name is of an epoch that was claimed since the
// ledger was opened.
func (k *Keeper) claimedSince(n keygen.Name) bool {
	if !n.Minted() {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	first, known := k.claims[n.Identity()]
	return known && n.Epoch() >= first
}
