package vtpmdetect

import (
	"net"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-tpm/tpm2"
	"github.com/google/go-tpm/tpm2/transport"
	"github.com/opmint/opmint/swtpm"
	"github.com/opmint/opmint/tpm"
)

func TestAsk(t *testing.T) {
	soft := swtpm.StartTest(t)
	certificate := readEKCertificates(t)["swtpm-secp384r1.der"]
	storeNV(t, soft, 0x01C00016, certificate)
	d, err := tpm.Open(soft.Addr())
	if err != nil {
		t.Fatal(err)
	}
	asked := Ask(t.Context(), d)
	if asked.Address != soft.Addr() || asked.Err != nil || asked.CertificatesErr != nil {
		t.Errorf("asked %s: %v, %v", asked.Address, asked.Err, asked.CertificatesErr)
	}
	evidence, _ := Gather(Machine{Root: fstest.MapFS{}, TPM: asked})
	got := *evidence.TPM
	if got.Manufacturer != 0x49424d00 || got.VendorString == nil || !strings.HasPrefix(*got.VendorString, "SW") ||
		got.ClockUpdate != softwareClockUpdate || got.SpecRevision == 0 || isTrue(got.FailureMode) ||
		got.EKIssuer != "CN=swtpm-localca" {
		t.Errorf("evidence %+v", got)
	}
	if verdict := Judge(evidence); verdict.TPM != TPMVirtual {
		t.Errorf("verdict %+v", verdict)
	}

	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if asked := Ask(t.Context(), d); asked.Err == nil || asked.Properties != nil {
		t.Errorf("asked a TPM that was closed: %+v", asked)
	}
}

// storeNV makes an index that everybody may read, as swtpm_setup makes them.
func storeNV(t *testing.T, soft *swtpm.TPM, handle tpm2.TPMHandle, content []byte) {
	t.Helper()
	conn, err := net.Dial("unix", strings.TrimPrefix(soft.Addr(), "unix:"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	link := transport.FromReadWriteCloser(conn)
	public := tpm2.New2B(tpm2.TPMSNVPublic{
		NVIndex: handle, NameAlg: tpm2.TPMAlgSHA256, DataSize: uint16(len(content)),
		Attributes: tpm2.TPMANV{AuthRead: true, OwnerRead: true, OwnerWrite: true, NoDA: true},
	})
	if _, err := (tpm2.NVDefineSpace{AuthHandle: tpm2.TPMRHOwner, PublicInfo: public}).Execute(link); err != nil {
		t.Fatal(err)
	}
	offset := 0
	for chunk := range slices.Chunk(content, 512) {
		read, err := tpm2.NVReadPublic{NVIndex: handle}.Execute(link)
		if err != nil {
			t.Fatal(err)
		}
		write := tpm2.NVWrite{
			AuthHandle: tpm2.TPMRHOwner, NVIndex: tpm2.NamedHandle{Handle: handle, Name: read.NVName},
			Offset: uint16(offset), Data: tpm2.TPM2BMaxNVBuffer{Buffer: chunk},
		}
		if _, err := write.Execute(link); err != nil {
			t.Fatal(err)
		}
		offset += len(chunk)
	}
}
