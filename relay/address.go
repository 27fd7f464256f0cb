package relay

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
)

// Scheme and SecureScheme are the schemes of the names of stores that are relays, without and with TLS.
const (
	Scheme       = "relay"
	SecureScheme = "relays"
)

// DefaultPort is the port of a relay whose address has none.
const DefaultPort = "4319"

// Addresses are the addresses of relays.
type Addresses struct {
	// Hosts are HOST:PORT. A host name may stand for several relays: all of its addresses are used.
	Hosts []string
	// Secure is set for TLS.
	Secure bool
}

// IsName reports whether the name of a store is that of relays.
func IsName(spec string) bool {
	scheme, _, ok := strings.Cut(spec, "://")
	return ok && (scheme == Scheme || scheme == SecureScheme)
}

// ParseAddresses parses relay://HOST[:PORT],… or relays://HOST[:PORT],….
func ParseAddresses(spec string) (a Addresses, err error) {
	scheme, rest, ok := strings.Cut(spec, "://")
	if !ok || scheme != Scheme && scheme != SecureScheme {
		return a, fmt.Errorf("%q is not relay://HOST:PORT", spec)
	}
	a.Secure = scheme == SecureScheme
	for text := range strings.SplitSeq(strings.TrimSuffix(rest, "/"), ",") {
		host, err := hostPort(text)
		if err != nil {
			return Addresses{}, err
		}
		if !slices.Contains(a.Hosts, host) {
			a.Hosts = append(a.Hosts, host)
		}
	}
	return a, nil
}

// Join joins the names of relays in a list of stores to one, for each scheme: they are one destination, not several stores.
func Join(stores []string) (joined []string) {
	at := map[string]int{}
	for _, spec := range stores {
		scheme, hosts, _ := strings.Cut(spec, "://")
		if i, ok := at[scheme]; ok {
			joined[i] += "," + hosts
			continue
		}
		if IsName(spec) {
			at[scheme] = len(joined)
		}
		joined = append(joined, spec)
	}
	return joined
}

// hostPort returns HOST:PORT, with the default port.
func hostPort(text string) (string, error) {
	u, err := url.Parse("relay://" + text)
	if err != nil || u.Host == "" || u.Hostname() == "" || u.User != nil || u.Path != "" || u.RawQuery != "" || u.Fragment != "" {
		return "", errors.New("a relay is HOST:PORT, such as relay://relay.logging:4319; several are separated by commas")
	}
	port := u.Port()
	if port == "" {
		port = DefaultPort
	}
	return net.JoinHostPort(u.Hostname(), port), nil
}
