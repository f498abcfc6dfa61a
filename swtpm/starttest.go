package swtpm

// TB is the part of testing.TB that StartTest uses.
type TB interface {
	Helper()           // marks the caller as a helper
	TempDir() string   // is for the state
	Cleanup(func())    // is for stopping it
	Error(args ...any) // is for an end that failed
	Fatal(args ...any) // is for a start that failed
}

// StartTest starts a new software TPM for the length of the test t. The test
// fails if swtpm cannot be started, also where it is not installed.
func StartTest(t TB) *TPM {
	t.Helper()
	tpm, err := Start(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		tpm.Kill()
		if err := tpm.Stop(); err != nil {
			t.Error(err)
		}
	})
	return tpm
}
