package main

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/opmint/opmint/keygen"
	"github.com/opmint/opmint/tpm"
)

// checkIndex judges what stands where the counter is to be.
func checkIndex(f *facts) finding {
	t := &f.tpm
	at := fmt.Sprintf("NV index %v", &t.nvIndex)
	switch {
	case !t.answers():
		return t.silent()
	case errors.Is(t.indexErr, fs.ErrPermission):
		return notChecked("%s: the state folder with its secret is closed to you: run this as its owner, or root", at)
	case t.indexErr != nil:
		return notChecked("%s: %v", at, t.indexErr)
	}
	switch t.counter.State {
	case tpm.Absent:
		return f.noIndex(at)
	case tpm.Unfinished:
		return warning(f.provision(""),
			"%s: made, and never counted: something broke off, and the daemon's next start goes on", at)
	case tpm.AuthLost:
		return failure(f.provision(" --new-index"),
			"%s: of opmint's form, and its secret, index.auth in %s, is lost or another's; "+
				"unless another opmint needs that index (then choose a place with --nv-index), make a new one", at, f.state.dir)
	case tpm.Stranger:
		return failure(f.elsewhere("nv-index", t.freeIndex()), "%v: say a place that is free, here too", t.counter.Problem)
	}
	return good("%s: opmint's, and its secret opens it; the counter shows %d", at, t.counter.Value)
}

// noIndex judges that there is none.
func (f *facts) noIndex(at string) finding {
	id := f.daemon.identity
	switch {
	case id != nil && id.Class != keygen.ClassJ:
		return failure(f.restart("TERM"),
			"%s: nothing is there, and a daemon runs: somebody deleted its counter, or it uses another (say --nv-index)", at)
	case f.tpm.opened.Properties.OwnerAuthSet:
		return failure(f.provision(""),
			"%s: nothing is there, and the daemon cannot make it, since the TPM's owner has a password: "+
				"type that, Enter and Ctrl-D", at)
	}
	return good("%s: nothing is there yet; the daemon makes its counter when it starts", at)
}

// freeIndex is the place after opmint's own at which nothing stands.
func (t *tpmFacts) freeIndex() string {
	place := nvIndex(tpm.DefaultIndex)
	for slices.Contains(t.indexes, uint32(place)) {
		place++
	}
	return place.String()
}

// checkEKCertificate tells who vouches for the TPM. Nothing rests on it.
func checkEKCertificate(f *facts) finding {
	if !f.tpm.answers() {
		return f.tpm.silent()
	}
	if err := f.tpm.opened.CertificatesErr; err != nil {
		return notChecked("%v", err)
	}
	seen := f.class.report.Evidence.TPM
	switch {
	case len(f.tpm.opened.EKCertificates) == 0:
		return good("none: many TPMs have none, and opmint needs none")
	case seen == nil || seen.EKIssuer == "":
		return good("there, and its issuer cannot be read; opmint needs none")
	}
	return good("issued by %s, which was not verified", seen.EKIssuer)
}

const (
	// endurance is how many writes a TPM's memory survives: no maker of PC TPMs
	// publishes it; those of similar chips say 500,000 to 600,000.
	endurance = 500_000
	// wornAt and shortLife are when somebody should think of another board.
	wornAt    = endurance / 2
	shortLife = 10 // years
)

const (
	day  = 24 * time.Hour
	year = 365 * day
)

// checkWear judges how many writes the counter has cost.
func checkWear(f *facts) finding {
	switch {
	case !f.tpm.answers():
		return f.tpm.silent()
	case f.tpm.indexErr != nil || f.tpm.counter.State != tpm.Ready:
		return notChecked("the counter cannot be read: see index")
	}
	return judgeWear(f.tpm.counter, f.clock.now)
}

func judgeWear(c tpm.Status, now time.Time) finding {
	spent := c.Value
	text := "at most %d of some %d writes that a TPM survives (%.1f %%)"
	if c.First > 0 && c.First <= c.Value {
		spent = c.Value - c.First + 1
		text = "%d of some %d writes that a TPM survives (%.1f %%)"
	}
	text = fmt.Sprintf(text, spent, endurance, 100*float64(spent)/endurance)
	age := now.Sub(c.Defined)
	const seeWho = "journalctl -u " + serviceUnit + " --grep claimed"
	switch {
	case spent >= wornAt:
		return warning(seeWho, "%s: think of another board; who claims so much?", text)
	case c.Defined.IsZero():
		return good("%s; since when is not known here", text)
	case age < day:
		return good("%s; the rate cannot be told before a day has passed", text)
	}
	text += " since " + c.Defined.UTC().Format(time.DateOnly)
	years := float64(endurance-spent) / (float64(spent) / (float64(age) / float64(year)))
	if years < shortLife {
		return warning(seeWho, "%s; at this rate it is worn out in %.1f years: who claims so much?", text, years)
	}
	if years > 1000 {
		return good("%s; at this rate there is no end to it", text)
	}
	return good("%s; at this rate enough for %.0f years", text, years)
}
