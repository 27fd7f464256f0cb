package access

import (
	"os"
	"testing"
)

// Only the owner may have access, and the group may read a mounted secret.
func TestMode(t *testing.T) {
	t.Parallel()
	for mode, want := range map[os.FileMode][2]bool{ // without and with a mounted secret
		0o600: {true, true}, 0o400: {true, true}, 0o700: {true, true},
		0o440: {false, true}, 0o640: {false, true}, 0o620: {false, false}, 0o660: {false, false}, 0o610: {false, false},
		0o444: {false, false}, 0o644: {false, false}, 0o602: {false, false}, 0o601: {false, false},
	} {
		for i, mounted := range []bool{false, true} {
			if got := checkMode(mode, mounted) == nil; got != want[i] {
				t.Errorf("%04o, mounted %v: accepted %v", mode, mounted, got)
			}
		}
	}
}
