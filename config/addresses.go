package config

import (
	"strings"

	"logstow/input/listen"
)

// Addresses are the addresses on which a shipper listens, each with the setting that has it.
type Addresses map[string]string

// Add adds the address of a setting. If an earlier setting has the same one, perhaps in another spelling, it returns that setting, else "".
// Addresses with the port 0 are never the same.
func (a Addresses) Add(address, setting string) (earlier string) {
	if address == "" || strings.HasSuffix(address, ":0") {
		return ""
	}
	network, place, ok := strings.Cut(address, "://")
	switch {
	case !ok:
		network, place = "tcp", listen.Loopback(address)
	case strings.HasPrefix(network, "unix"):
		network = "unix" // stream and datagram sockets share the names of files
	default:
		place = listen.Loopback(place)
	}
	key := network + "://" + place
	if earlier = a[key]; earlier == "" {
		a[key] = setting
	}
	return earlier
}
