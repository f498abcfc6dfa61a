package main

import (
	"fmt"
	"testing"
)

func TestAdopt(t *testing.T) {
	f := content()
	for flag, want := range map[string]string{"state": "/srv/opmint", "nv-index": "0x01901d05", "tpm": ""} {
		if got := f.unit.told(flag); got != want {
			t.Errorf("the unit says --%s %q, want %q", flag, got, want)
		}
	}
	cmd := newDoctorCommand()
	must(t, cmd.ParseFlags([]string{"--state", "mine"}))
	must(t, f.adopt(cmd))
	state, index := cmd.Flag("state").Value.String(), cmd.Flag("nv-index").Value.String()
	if state != "mine" || index != "0x01901d05" {
		t.Errorf("adopted --state %s --nv-index %s", state, index)
	}
	// What is typed as the remedy is for the daemon's TPM and index.
	f.unit.execStart += " --tpm /dev/tpmrm1"
	cmd = newDoctorCommand()
	must(t, f.adopt(cmd))
	const want = "opmint provision --tpm /dev/tpmrm1 --nv-index 0x01901d05 --state /srv/opmint --new-index"
	if got := f.provision(" --new-index"); got != want {
		t.Errorf("the remedy is %s, want %s", got, want)
	}
}

// TestStateDirectory reads what the unit of the package says, as systemd shows it.
func TestStateDirectory(t *testing.T) {
	const shown = "Id=opmintd.service\nLoadState=loaded\nStateDirectory=%s\n" +
		"ExecStart={ path=/usr/bin/opmintd ; argv[]=/usr/bin/opmintd --state %s ; ignore_errors=no }\n"
	for _, c := range []struct {
		folders, says, want string
	}{
		{"opmint", "${STATE_DIRECTORY}", "/var/lib/opmint"},
		{"opmint", "$STATE_DIRECTORY", "/var/lib/opmint"},
		{"opmint", "${STATE_DIRECTORY}/state", "/var/lib/opmint/state"},
		{"opmint", "/srv/opmint", "/srv/opmint"},
		{"", "${STATE_DIRECTORY}", "${STATE_DIRECTORY}"},
		{"opmint", "${ELSEWHERE}", "${ELSEWHERE}"},
		{"opmint more", "${STATE_DIRECTORY}", "/var/lib/opmint:/var/lib/more"},
	} {
		u := parseUnits(fmt.Sprintf(shown, c.folders, c.says))
		if got := u.told("state"); got != c.want {
			t.Errorf("StateDirectory=%s, --state %s is %s, want %s", c.folders, c.says, got, c.want)
		}
	}
}
