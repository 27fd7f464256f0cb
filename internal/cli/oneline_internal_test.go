package cli

import (
	"errors"
	"testing"
)

func TestOneLine(t *testing.T) {
	t.Parallel()
	full := errors.New("write /dev/stdout: no space left on device")
	for text, want := range map[string]string{
		errors.Join(full, errors.Join(full, full)).Error():   full.Error(),
		errors.Join(full, errors.New("b\x1b"), full).Error(): full.Error() + `; b\x1b`,
		"a\r\nb\n": "a; b",
		"":         "",
	} {
		if got := oneLine(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
