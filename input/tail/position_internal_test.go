package tail

import "testing"

func FuzzDecodePosition(f *testing.F) {
	f.Add([]byte{})
	f.Add(position{}.encode())
	f.Add(example().encode())
	f.Add(example().encode()[:20])
	f.Add([]byte{positionVersion, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f})
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := decodePosition(b)
		if err != nil {
			return
		}
		if p.offset < 0 || p.at < 0 || p.modified < 0 || p.print.length > maxFingerprint || p.kind >= kinds {
			t.Errorf("%+v", p)
		}
		if b[0] == positionVersion && string(p.encode()) != string(b) {
			t.Errorf("%x is written as %x", b, p.encode())
		}
	})
}

func example() position {
	return position{
		id: fileID{64768, 1 << 63}, kind: compressed, offset: 1 << 40, print: fingerprint{maxFingerprint, 0xfffffffe}, at: 1795190400,
		modified: 1795190400123456789, path: "/var/log/a.log", target: "/data/a.log", source: "a.log", state: "held",
	}
}

func TestPositionRoundTrip(t *testing.T) {
	t.Parallel()
	want := example()
	if got, err := decodePosition(want.encode()); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	unknown := want.encode()
	unknown[0]++
	if got, err := decodePosition(unknown); err == nil {
		t.Errorf("another version: %+v", got)
	}
}

func TestOrigins(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, origin  string
		byName, found bool
	}{
		{"app.log.1", "app.log", true, true},
		{"app.log.12.gz", "app.log", true, true},
		{"app.log.gz", "app.log", true, true},
		{"app.log-20261120", "app.log", true, true},
		{"app.log.2026-11-20", "app.log", true, true},
		{"0.log.20261120-150405", "0.log", true, true},
		{"app-2026-11-20T15-04-05.123.log", "app.log", true, true},
		{"app-2026-11-20T15-04-05.123.log.gz", "app.log", true, true},
		{"app.log.old", "app.log", true, true},
		{"app-2.log", "app.log", false, true}, // more likely another log
		{"app-errors.log", "app.log", false, true},
		{"app.log", "app.log", false, false},
		{"application.log", "app.log", false, false},
	} {
		found, byName := false, false
		for origin, s := range origins(c.name) {
			if origin == c.origin {
				found, byName = true, byName || s
			}
		}
		if found != c.found || byName != c.byName {
			t.Errorf("%s of %s: %v, sure %v", c.name, c.origin, found, byName)
		}
	}
}
