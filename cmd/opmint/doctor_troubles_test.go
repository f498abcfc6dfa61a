package main

import (
	"encoding/binary"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-tpm/tpm2"
)

var tpmTroubles = []trouble{
	{name: "gone", check: "device", says: "nobody answers at unix:", make: func(w *ward) {
		w.tpm.Kill()
	}, fill: func(w *ward, _ finding) {
		w.fill["DIR"] = w.tpmDir
		w.waits = strings.TrimPrefix(w.addr, "unix:")
	}},
	{name: "not started", check: "device", says: "was not started", make: func(w *ward) {
		w.addr = "unix:" + filepath.Join(w.dir, "t")
		w.waits = filepath.Join(w.dir, "t")
		must(w.t, os.Mkdir(filepath.Join(w.dir, "other"), 0o700))
		w.run("exec swtpm socket --tpm2 --tpmstate dir=other --server type=unixio,path=t --flags not-need-init")
		w.waits = ""
	}},
	{name: "TPM 1.2", check: "device", says: "is a TPM 1.2", make: func(w *ward) {
		w.tool("systemctl", `[ "$*" = 'reboot --firmware-setup' ] && touch $HERE/cured`)
		w.between(func(cmd []byte) []byte { return []byte{0, 0xc4, 0, 0, 0, 10, 0, 0, 0, 30} })
	}},
	{name: "failure mode", check: "device", says: "is in failure mode", make: func(w *ward) {
		w.tool("systemctl", `[ "$*" = poweroff ] && touch $HERE/cured`)
		w.between(func(cmd []byte) []byte {
			if code(cmd) == tpm2.TPMCCGetCapability {
				return forward(w.tpm.Addr(), cmd)
			}
			return binary.BigEndian.AppendUint32([]byte{0x80, 1, 0, 0, 0, 10}, uint32(tpm2.TPMRCFailure))
		})
	}},
	{name: "no TPM", check: "device", says: "is no TPM 2.0", make: func(w *ward) {
		w.between(func([]byte) []byte { return []byte("220 mail.e") })
	}, fill: func(w *ward, _ finding) {
		w.fill["ADDRESS"] = w.tpm.Addr()
		w.daemonElsewhere() // so that the remedy, which is doctor, is content
	}, then: func(w *ward) { w.addr = w.tpm.Addr() }},
}

// between puts something between the ward and its TPM that answers instead, until the
// file "cured" is there.
func (w *ward) between(answer func(cmd []byte) []byte) {
	w.t.Helper()
	path := filepath.Join(w.dir, "between")
	l, err := net.Listen("unix", path)
	must(w.t, err)
	w.addr = "unix:" + path
	ended := make(chan struct{})
	w.t.Cleanup(func() {
		l.Close()
		<-ended
	})
	serveOne := func(c net.Conn) {
		defer c.Close()
		for {
			cmd, err := readMessage(c)
			if err != nil {
				return
			}
			rsp := answer(cmd)
			if _, err := os.Stat(filepath.Join(w.dir, "cured")); err == nil {
				rsp = forward(w.tpm.Addr(), cmd)
			}
			_, _ = c.Write(rsp)
		}
	}
	go func() {
		defer close(ended)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			serveOne(c)
		}
	}()
}

// onDisk gives the state folder a small disk of its own, mounted with the options, on
// which a command is run.
func (w *ward) onDisk(options, command string) {
	w.t.Helper()
	disk := filepath.Join(w.dir, "disk")
	must(w.t, os.Mkdir(disk, 0o700))
	must(w.t, os.Mkdir(w.state, 0o700))
	w.enter("mount -t tmpfs -o size=20m none " + disk + " && cd " + disk + " && " +
		"mkdir lower upper work && chmod 700 upper && " +
		"mount -t overlay -o " + options + "lowerdir=lower,upperdir=upper,workdir=work none " + w.state + " && " + command)
}

var stateTroubles = []trouble{
	{name: "no folder", check: "state", says: "is no folder", make: func(w *ward) {
		must(w.t, os.WriteFile(w.state, nil, 0o600))
	}},
	{name: "open to others", check: "state", says: "other users can read its secrets", make: func(w *ward) {
		must(w.t, os.Mkdir(w.state, 0o750))
	}},
	{name: "read-only", check: "state", says: "its file system is read-only", make: func(w *ward) {
		w.onDisk("ro,", "true")
	}},
	{name: "full", check: "state", says: "its disk is full", make: func(w *ward) {
		w.tool("journalctl", `[ "$*" = --vacuum-size=100M ] && rm $HERE/state/old.log`)
		w.onDisk("", "{ head -c 30000000 /dev/zero > "+w.state+"/old.log || true; }")
	}},
	{name: "not durable", check: "state", says: "cannot be made durable", make: func(w *ward) {
		w.state = "/proc/self/fd"
	}, fill: func(w *ward, _ finding) {
		w.fill["DIR"] = filepath.Join(w.dir, "other")
	}, then: func(w *ward) { w.state = w.fill["DIR"] }},
}

var unitTroubles = []trouble{
	{name: "start limit", check: "unit", says: "systemd has given up", make: func(w *ward) {
		w.systemd("failed start-limit-hit 3 enabled loaded", "inactive success 0 enabled loaded")
	}},
	{name: "refused", check: "unit", says: "it ended with code 3, it refused to mint", make: func(w *ward) {
		w.systemd("failed exit-code 3 enabled loaded", "active success 0 enabled loaded")
	}},
	{name: "socket failed", check: "unit", says: "opmintd.socket failed: systemd says resources", make: func(w *ward) {
		w.systemd("inactive success 0 disabled loaded", "failed resources 0 enabled loaded")
	}},
	{name: "not started", check: "unit", says: "opmintd.socket is installed and not started", make: func(w *ward) {
		w.systemd("inactive success 0 disabled loaded", "inactive success 0 disabled loaded")
	}},
	{name: "masked", check: "unit", says: "is masked", make: func(w *ward) {
		w.systemd("inactive success 0 masked masked", "inactive success 0 masked masked")
	}},
}

// systemd puts in the place of systemctl what keeps each unit's ActiveState, Result,
// ExecMainStatus, UnitFileState and LoadState in a file, and changes them as systemd
// would: what failed, or is masked, does not start.
func (w *ward) systemd(service, socket string) {
	w.t.Helper()
	must(w.t, os.WriteFile(filepath.Join(w.dir, "opmintd.service"), []byte(service+"\n"), 0o600))
	must(w.t, os.WriteFile(filepath.Join(w.dir, "opmintd.socket"), []byte(socket+"\n"), 0o600))
	w.tool("systemctl", `
verb=$1; shift
case $1 in --property=*|--now) shift;; esac
for unit; do
	read -r active result code file load < $HERE/$unit
	case $verb in
	show)
		printf 'Id=%s\nLoadState=%s\nUnitFileState=%s\nActiveState=%s\nResult=%s\nExecMainStatus=%s\nNRestarts=0\n\n' \
			$unit $load $file $active $result $code
		continue;;
	reset-failed) [ $active != failed ] || active=inactive result=success code=0;;
	unmask) file=disabled load=loaded;;
	start|enable)
		[ $load = loaded ] && [ $active != failed ] || exit 1
		active=active
		[ $verb = start ] || file=enabled;;
	*) exit 1;;
	esac
	echo $active $result $code $file $load > $HERE/$unit
done`)
}
