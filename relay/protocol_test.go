package relay_test

import (
	"errors"
	"slices"
	"testing"

	"logstow/relay"
)

func TestAddresses(t *testing.T) {
	t.Parallel()
	for spec, want := range map[string][]string{
		"relay://a":                  {"a:4319"},
		"relay://a:1,b,a:1/":         {"a:1", "b:4319"},
		"relays://relay.logging:443": {"relay.logging:443"},
		"relay://[::1]:5,10.0.0.1":   {"[::1]:5", "10.0.0.1:4319"},
		"relay://":                   nil,
		"relay://a,,b":               nil,
		"relay://user:secret@a":      nil,
		"relay://a/path":             nil,
		"relay://a?x=1":              nil,
		"azblob://logs":              nil,
		"a":                          nil,
	} {
		got, err := relay.ParseAddresses(spec)
		if (err == nil) != (want != nil) || !slices.Equal(got.Hosts, want) || got.Secure != (spec[:min(6, len(spec))] == "relays") {
			t.Errorf("%s: %+v, %v", spec, got, err)
		}
	}
}

func TestJoin(t *testing.T) {
	t.Parallel()
	got := relay.Join([]string{"relay://a", "./dir", "relay://b,c", "relays://d", "azblob://logs"})
	if want := []string{"relay://a,b,c", "./dir", "relays://d", "azblob://logs"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func FuzzParseName(f *testing.F) {
	f.Add("0d709907e6f04900dd26ed90f56f4048/7ab23cec59a711d934c79c18c5fd5567/12")
	f.Add("0d709907e6f04900/7ab23cec59a711d9-00ff/0")
	f.Add("a/b/c")
	f.Add("0d709907e6f04900/7ab23cec59a711d9/-1")
	f.Fuzz(func(t *testing.T, s string) {
		n, err := relay.ParseName(s)
		if err != nil {
			if !errors.Is(err, relay.ErrName) {
				t.Error(err)
			}
			return
		}
		if n.String() != s {
			t.Errorf("%q became %q", s, n)
		}
	})
}
