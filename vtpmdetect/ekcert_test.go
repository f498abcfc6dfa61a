package vtpmdetect

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// readEKCertificates reads certificates that swtpm_localca made, and one of an
// authority that nobody knows.
func readEKCertificates(t testing.TB) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob("../testdata/ekcert/*.der")
	if err != nil || len(files) == 0 {
		t.Fatalf("no certificates: %v", err)
	}
	certificates := make(map[string][]byte)
	for _, file := range files {
		if certificates[filepath.Base(file)], err = os.ReadFile(file); err != nil {
			t.Fatal(err)
		}
	}
	return certificates
}

// certify makes a self-signed certificate of that name.
func certify(t testing.TB, name pkix.Name) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: name}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func TestEKIssuer(t *testing.T) {
	const swtpm, unknown = "CN=swtpm-localca", `CN=EK CA 003,OU=TPM,O=Example Chips\, Inc.,C=DE`
	certificates := readEKCertificates(t)
	for file, want := range map[string]struct {
		issuer string
		tpm    TPMKind // of a chip with this certificate, on metal
	}{
		"swtpm-rsa2048.der":   {swtpm, TPMVirtual},
		"swtpm-secp384r1.der": {swtpm, TPMVirtual},
		"unknown-ca-p256.der": {unknown, TPMPhysical},
	} {
		issuer, err := ekIssuer(certificates[file])
		if err != nil || issuer != want.issuer {
			t.Errorf("%s: issuer %q, %v; want %q", file, issuer, err, want.issuer)
		}
		chip := TPM{Manufacturer: 0x49465800, EKIssuer: issuer}
		if verdict := Judge(Evidence{TPM: &chip, Host: Host{CPUHypervisorFlag: new(false)}}); verdict.TPM != want.tpm {
			t.Errorf("%s: a TPM with this certificate is %s, want %s", file, verdict.TPM, want.tpm)
		}
	}
}

// What stands in a TPM's index need not begin or end with the certificate.
func TestEKIssuerAround(t *testing.T) {
	der := certify(t, pkix.Name{Country: []string{"DE"}, Organization: []string{"a, b"}, CommonName: "EK CA 003"})
	const want = `CN=EK CA 003,O=a\, b,C=DE`
	stored := []byte{0x10, 0x01, 0x00, byte(len(der) >> 8), byte(len(der))} // TCG PC Client 1.2, stored certificate
	octets, err := asn1.Marshal(der)
	if err != nil {
		t.Fatal(err)
	}
	sequence, err := asn1.Marshal([]asn1.RawValue{{FullBytes: der}, {FullBytes: der}})
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"bare":             der,
		"filled with FF":   append(bytes.Clone(der), bytes.Repeat([]byte{0xff}, 2000)...),
		"filled with 00":   append(bytes.Clone(der), make([]byte, 2000)...),
		"wrapped by TCG":   append(stored, der...),
		"in octets":        octets,
		"in a sequence":    sequence,
		"after zeros":      append(make([]byte, maxWrapper-1), der...),
		"followed by more": append(bytes.Clone(der), der...),
	} {
		if issuer, err := ekIssuer(data); err != nil || issuer != want {
			t.Errorf("%s: issuer %q, %v; want %q", name, issuer, err, want)
		}
	}
}

// Certificates that crypto/x509 refuses, and chips have.
func TestEKIssuerOfBadDER(t *testing.T) {
	der := readEKCertificates(t)["swtpm-rsa2048.der"]
	name := []byte("\x30\x18\x31\x16\x30\x14\x06\x03\x55\x04\x03\x13\x0dswtpm-localca") // RDNSequence
	if !bytes.Contains(der, name) {
		t.Fatal("the certificate is another than this test knows")
	}
	for what, change := range map[string]struct{ from, to []byte }{
		"string of no known type": {[]byte("\x13\x0dswtpm-localca"), []byte("\x1f\x0dswtpm-localca")},
		"name with odd lengths":   {[]byte("\x31\x16\x30\x14"), []byte("\x31\x16\x30\x15")},
		"negative serial number":  {[]byte("\xa0\x03\x02\x01\x02\x02"), []byte("\xa0\x03\x02\x01\x07\x02")},
	} {
		bad := bytes.Replace(der, change.from, change.to, 1)
		if _, err := x509.ParseCertificate(bad); err == nil {
			t.Errorf("%s: crypto/x509 accepts it", what)
		}
		issuer, err := ekIssuer(bad)
		if err != nil || !strings.Contains(issuer, "swtpm-localca") {
			t.Errorf("%s: issuer %q, %v", what, issuer, err)
		}
	}
}

func TestEKIssuerRefused(t *testing.T) {
	der := readEKCertificates(t)["swtpm-rsa2048.der"]
	for name, data := range map[string][]byte{
		"huge":                  append(bytes.Clone(der), make([]byte, maxEKCertificate)...),
		"cut off":               der[:len(der)/2],
		"zeros":                 make([]byte, 2048),
		"ones":                  bytes.Repeat([]byte{0xff}, 2048),
		"text":                  []byte("-----BEGIN CERTIFICATE-----"),
		"too far in":            append(make([]byte, maxWrapper), der...),
		"sequences all the way": bytes.Repeat([]byte{0x30, 0x82, 0x00, 0x00}, 500),
		"length of 4 GiB":       {0x30, 0x84, 0xff, 0xff, 0xff, 0xff, 0x30},
		"indefinite length":     {0x30, 0x80, 0x30, 0x80, 0x02, 0x01, 0x01, 0x30, 0x00, 0x30, 0x01, 0x31},
		"length of length":      {0x30, 0xff, 0x01},
		"issuer without name":   certify(t, pkix.Name{}),
		"nothing":               {},
	} {
		if issuer, err := ekIssuer(data); err == nil {
			t.Errorf("%s: issuer %q", name, issuer)
		}
	}
}

func TestEKIssuerIsShort(t *testing.T) {
	long := strings.Repeat("x", 20000)
	issuer, err := ekIssuer(certify(t, pkix.Name{CommonName: long}))
	if err != nil || len(issuer) != maxIssuer {
		t.Errorf("%d bytes, %v", len(issuer), err)
	}
}

// No certificate turns a verdict to physical, and where crypto/x509 reads one
// the issuer is what it reads.
func FuzzEKCertificate(f *testing.F) {
	for _, der := range readEKCertificates(f) {
		f.Add(der)
	}
	onMetal, onVM := Host{CPUHypervisorFlag: new(false)}, Host{CPUHypervisorFlag: new(true)}
	f.Fuzz(func(t *testing.T, data []byte) {
		issuer, err := ekIssuer(data)
		if err != nil && issuer != "" || len(issuer) > maxIssuer || issuer != printable(issuer) {
			t.Fatalf("issuer %q, %v", issuer, err)
		}
		for _, e := range []Evidence{
			{TPM: &TPM{EKIssuer: issuer}, Host: onMetal},
			{TPM: &TPM{EKIssuer: issuer, Manufacturer: 0x48504500}, Host: onMetal},
			{TPM: &TPM{EKIssuer: issuer, Manufacturer: 0x49465800}, Host: onVM},
			{TPM: &TPM{EKIssuer: issuer, Manufacturer: 0x49465800}},
		} {
			if Judge(e).TPM == TPMPhysical {
				t.Fatalf("issuer %q makes %+v physical", issuer, e)
			}
		}
		if want, ok := issuerByX509(data); ok && issuer != want {
			t.Fatalf("issuer %q, crypto/x509 reads %q", issuer, want)
		}
	})
}

func issuerByX509(data []byte) (string, bool) {
	certificate, err := x509.ParseCertificate(data)
	if err != nil {
		return "", false
	}
	var rdn pkix.RDNSequence
	if _, err := asn1.Unmarshal(certificate.RawIssuer, &rdn); err != nil || len(rdn) == 0 {
		return "", false
	}
	name := printable(rdn.String())
	return name[:min(len(name), maxIssuer)], true
}
