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
		if p.offset < 0 || p.at < 0 || p.print.length > maxPrint {
			t.Errorf("%+v", p)
		}
		if string(p.encode()) != string(b) {
			t.Errorf("%x is written as %x", b, p.encode())
		}
	})
}

func example() position {
	return position{fileID{64768, 1 << 63}, 1 << 40, fingerprint{maxPrint, 0xfffffffe}, 1795190400, "/var/log/a.log", "a.log"}
}

func TestPositionRoundTrip(t *testing.T) {
	t.Parallel()
	want := example()
	if got, err := decodePosition(want.encode()); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
}
