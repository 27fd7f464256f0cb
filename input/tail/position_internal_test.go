package tail

import "testing"

func FuzzDecodePosition(f *testing.F) {
	f.Add([]byte{})
	f.Add(position{}.encode())
	f.Add(position{fileID{64768, 1 << 63}, 1 << 40, fingerprint{maxPrint, 0xfffffffe}}.encode())
	f.Add([]byte{positionVersion, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f})
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := decodePosition(b)
		if err != nil {
			return
		}
		if p.offset < 0 || p.print.length > maxPrint {
			t.Errorf("%+v", p)
		}
		if string(p.encode()) != string(b) {
			t.Errorf("%x is written as %x", b, p.encode())
		}
	})
}

func TestPositionRoundTrip(t *testing.T) {
	t.Parallel()
	want := position{fileID{64768, 1 << 63}, 1 << 40, fingerprint{maxPrint, 0xfffffffe}}
	if got, err := decodePosition(want.encode()); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
}
