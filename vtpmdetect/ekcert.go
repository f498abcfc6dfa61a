package vtpmdetect

import (
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"fmt"
)

const (
	// maxEKCertificate bounds what is read of a certificate, in bytes. Those
	// of chips have less than 2 KiB.
	maxEKCertificate = 64 << 10
	// maxWrapper is how far into the data a certificate may begin.
	maxWrapper = 64
	// maxIssuer bounds the text of an issuer's name, in bytes.
	maxIssuer = 1024
)

// Tags of DER (ITU-T X.690).
const (
	tagInteger  = 0x02
	tagSequence = 0x30
	tagVersion  = 0xa0 // [0], constructed
)

// ekIssuer returns the issuer's name of the certificate in data, as RFC 2253
// writes it.
//
// It verifies nothing and wants little: what stands in TPMs may be wrapped,
// may be filled up to the size of its index, and may break rules of X.509
// that crypto/x509 insists on. All of that is common on real chips, and only
// the name is wanted, of which only a bad one counts.
func ekIssuer(data []byte) (string, error) {
	if len(data) > maxEKCertificate {
		return "", fmt.Errorf("endorsement key certificate of %d bytes, more than %d", len(data), maxEKCertificate)
	}
	for i := range min(len(data), maxWrapper) {
		if name, ok := issuerOf(data[i:]); ok {
			return name, nil
		}
	}
	return "", errors.New("the endorsement key certificate is no X.509 certificate with an issuer")
}

// issuerOf walks Certificate, TBSCertificate, issuer (RFC 5280, section 4.1).
// What follows the certificate does not matter.
func issuerOf(data []byte) (string, bool) {
	certificate, _, ok := element(data, tagSequence)
	if !ok {
		return "", false
	}
	fields, _, ok := element(certificate.body, tagSequence)
	if !ok {
		return "", false
	}
	rest := fields.body
	if _, after, ok := element(rest, tagVersion); ok {
		rest = after
	}
	for _, tag := range []byte{tagInteger, tagSequence} { // serial number, algorithm
		if _, rest, ok = element(rest, tag); !ok {
			return "", false
		}
	}
	issuer, _, ok := element(rest, tagSequence)
	if !ok || len(issuer.body) == 0 {
		return "", false
	}
	name := nameText(issuer)
	return name[:min(len(name), maxIssuer)], true
}

// nameText prints a distinguished name. Of one that is no proper DER it gives
// the bytes, in which a known name is still found.
func nameText(name derElement) string {
	var rdn pkix.RDNSequence
	if rest, err := asn1.Unmarshal(name.whole, &rdn); err != nil || len(rest) > 0 {
		return printable(string(name.body))
	}
	return printable(rdn.String())
}

// derElement is one tag, length and value.
type derElement struct{ whole, body []byte }

// element reads the element at the start of data if it has this tag. Lengths
// may be longer written than DER allows.
func element(data []byte, tag byte) (e derElement, rest []byte, ok bool) {
	if len(data) < 2 || data[0] != tag {
		return derElement{}, nil, false
	}
	length, header := uint64(data[1]), 2
	if length >= 0x80 {
		header += int(length - 0x80)
		if header == 2 || header > 6 || len(data) < header {
			return derElement{}, nil, false
		}
		length = 0
		for _, b := range data[2:header] {
			length = length<<8 | uint64(b)
		}
	}
	if length > uint64(len(data)-header) {
		return derElement{}, nil, false
	}
	end := header + int(length)
	return derElement{whole: data[:end], body: data[header:end]}, data[end:], true
}
