package match

import (
	"testing"

	"logstow/filter/token"
)

func TestRequiredText(t *testing.T) {
	t.Parallel()
	for expr, want := range map[string]string{
		"abc": "abc", "a(bcd)e": "bcd", "(?:abc)+": "abc", "(?:abc){2,}": "abc", "(?:abc)?": "", "abc|abd": "ab",
		"a.*longer": "longer", "(?i)trace": "trace", "(?i)broken": "bro", "x\ufffdyz": "yz", "": "", "[a-z]": "",
	} {
		_, lit, err := compileRegexp(expr, false)
		if err != nil || string(lit.text) != want {
			t.Errorf("%s: %q, %v; want %q", expr, lit.text, err, want)
		}
	}
	for _, bad := range []string{"a)(b", "(", "a{2000}"} {
		if _, _, err := compileRegexp(bad, true); err == nil {
			t.Errorf("%s compiles", bad)
		}
	}
}

func TestAppendLower(t *testing.T) {
	t.Parallel()
	all := make([]byte, 256+5)
	for i := range all {
		all[i] = byte(i)
	}
	for cut := range 9 {
		for i, b := range appendLower(nil, all[cut:]) {
			if want := token.Lower(all[cut+i]); b != want {
				t.Fatalf("byte %#x: %#x, want %#x", all[cut+i], b, want)
			}
		}
	}
}
