package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/google/go-tpm/tpm2"
	"github.com/google/go-tpm/tpm2/transport"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/opmint/opmint/swtpm"
)

// startTPM is the script command "swtpm": it starts a new software TPM for the
// length of the script and sets TPM to its address.
func startTPM(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: swtpm")
	}
	t, err := swtpm.Start(ts.MkAbs("swtpm"))
	ts.Check(err)
	ts.Defer(func() {
		t.Kill()
		ts.Check(t.Stop())
	})
	ts.Setenv("TPM", t.Addr())
}

// meddle is the script command "tpm ACTION", what others do to the TPM:
//
//	tpm auth owner|endorsement SECRET   set the authorization of a hierarchy
//	tpm memory HANDLE                   define ordinary memory
//	tpm counter HANDLE                  define somebody's counter, incremented once
//	tpm unfinished HANDLE FOLDER        define an index of opmint's, and index.auth, and stop there
//	tpm clear                           TPM2_Clear
//	tpm show HANDLE                     write what stands there to standard output
//	tpm lossy                           put something between that loses the answer to TPM2_NV_DefineSpace
//	tpm stealing HANDLE                 put something between that deletes an index at TPM2_CreatePrimary
//	tpm answers CODE                    put something in its place that answers every command with an error
func meddle(ts *testscript.TestScript, neg bool, args []string) {
	actions := map[string]struct {
		args int
		run  func(*testscript.TestScript, []string)
	}{
		"auth": {2, setAuth}, "memory": {1, defineMemory}, "counter": {1, defineCounter}, "unfinished": {2, defineUnfinished},
		"clear": {0, clearTPM}, "show": {1, showIndex}, "lossy": {0, loseAnswers}, "stealing": {1, stealIndex},
		"answers": {1, answerErrors},
	}
	if neg || len(args) == 0 {
		ts.Fatalf("usage: tpm ACTION")
	}
	action, ok := actions[args[0]]
	if !ok || len(args) != 1+action.args {
		ts.Fatalf("no action, or not with these arguments: %q", args)
	}
	action.run(ts, args[1:])
}

// ask runs a command on the script's TPM, which has to succeed.
func ask[R any, PR *R](ts *testscript.TestScript, cmd tpm2.Command[R, PR]) PR {
	rsp, err := askAt(ts.Getenv("TPM"), cmd)
	if err != nil {
		ts.Fatalf("%T: %v", cmd, err)
	}
	return rsp
}

// askAt runs a command on the TPM at addr.
func askAt[R any, PR *R](addr string, cmd tpm2.Command[R, PR]) (PR, error) {
	conn, err := net.Dial("unix", strings.TrimPrefix(addr, "unix:"))
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	return cmd.Execute(transport.FromReadWriteCloser(conn))
}

func handle(ts *testscript.TestScript, text string) tpm2.TPMHandle {
	n, err := strconv.ParseUint(text, 0, 32)
	ts.Check(err)
	return tpm2.TPMHandle(n)
}

func setAuth(ts *testscript.TestScript, args []string) {
	hierarchy, ok := map[string]tpm2.TPMHandle{"owner": tpm2.TPMRHOwner, "endorsement": tpm2.TPMRHEndorsement}[args[0]]
	if !ok {
		ts.Fatalf("no hierarchy %s", args[0])
	}
	ask(ts, tpm2.HierarchyChangeAuth{AuthHandle: hierarchy, NewAuth: tpm2.TPM2BAuth{Buffer: []byte(args[1])}})
}

func clearTPM(ts *testscript.TestScript, _ []string) {
	ask(ts, tpm2.Clear{AuthHandle: tpm2.TPMRHLockout})
}

func define(ts *testscript.TestScript, public tpm2.TPMSNVPublic, auth []byte) {
	public.NameAlg = tpm2.TPMAlgSHA256
	ask(ts, tpm2.NVDefineSpace{
		AuthHandle: tpm2.TPMRHOwner, Auth: tpm2.TPM2BAuth{Buffer: auth}, PublicInfo: tpm2.New2B(public),
	})
}

func defineMemory(ts *testscript.TestScript, args []string) {
	define(ts, tpm2.TPMSNVPublic{
		NVIndex: handle(ts, args[0]), DataSize: 8,
		Attributes: tpm2.TPMANV{OwnerRead: true, OwnerWrite: true, NoDA: true},
	}, nil)
}

func defineCounter(ts *testscript.TestScript, args []string) {
	index := handle(ts, args[0])
	define(ts, tpm2.TPMSNVPublic{
		NVIndex: index, DataSize: 8,
		Attributes: tpm2.TPMANV{NT: tpm2.TPMNTCounter, OwnerRead: true, OwnerWrite: true, NoDA: true},
	}, nil)
	name := ask(ts, tpm2.NVReadPublic{NVIndex: index}).NVName
	ask(ts, tpm2.NVIncrement{
		AuthHandle: tpm2.TPMRHOwner, NVIndex: tpm2.NamedHandle{Handle: index, Name: name},
	})
}

// defineUnfinished leaves what a provision leaves that is killed right after it
// has defined the index.
func defineUnfinished(ts *testscript.TestScript, args []string) {
	auth := []byte("0123456789abcdef0123456789abcdef")
	dir := ts.MkAbs(args[1])
	ts.Check(os.MkdirAll(dir, 0o700))
	ts.Check(os.WriteFile(filepath.Join(dir, "index.auth"), auth, 0o600))
	define(ts, tpm2.TPMSNVPublic{
		NVIndex: handle(ts, args[0]), DataSize: 8,
		Attributes: tpm2.TPMANV{NT: tpm2.TPMNTCounter, AuthRead: true, AuthWrite: true, OwnerRead: true, NoDA: true},
		AuthPolicy: tpm2.TPM2BDigest{Buffer: []byte(strings.Repeat("\xab", 32))},
	}, auth)
}

// showIndex writes all that the owner of the TPM can see of an index.
func showIndex(ts *testscript.TestScript, args []string) {
	index := handle(ts, args[0])
	rsp := ask(ts, tpm2.NVReadPublic{NVIndex: index})
	public, err := rsp.NVPublic.Contents()
	ts.Check(err)
	fmt.Fprintf(ts.Stdout(), "algorithm %x\nattributes %x\npolicy %x\nsize %d\n", uint16(public.NameAlg),
		tpm2.Marshal(public.Attributes), public.AuthPolicy.Buffer, public.DataSize)
	if public.Attributes.Written {
		data := ask(ts, tpm2.NVRead{
			AuthHandle: tpm2.TPMRHOwner, NVIndex: tpm2.NamedHandle{Handle: index, Name: rsp.NVName}, Size: public.DataSize,
		})
		fmt.Fprintf(ts.Stdout(), "data %x\n", data.Data.Buffer)
	}
}
