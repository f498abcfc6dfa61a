package server

import (
	"fmt"
	"net"
	"net/netip"
	"strings"

	"github.com/opmint/opmint/api"
)

// checkHost refuses requests for a host with a domain name. Over the socket the
// host means nothing, so clients send whatever single word they like: opmint,
// localhost, or nothing in HTTP/1.0. But where somebody forwards a port to the
// socket, a web page can make a browser ask there in the name of the page's own
// domain, which it has pointed at this machine, and read the answer. A single word
// is no domain that a stranger can have, nor is a loopback address.
func checkHost(host string) error {
	if !strings.ContainsAny(host, ".:") {
		return nil
	}
	name := strings.Trim(host, "[]")
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	address, err := netip.ParseAddr(name)
	if !strings.ContainsAny(name, ".:") || err == nil && address.IsLoopback() {
		return nil
	}
	return fmt.Errorf("%w: it is for the host %.60q, as if from a web page: ask for http://opmint", api.ErrForbidden, host)
}
