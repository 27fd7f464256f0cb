package limited_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"logstow/internal/limited"
)

func TestReader(t *testing.T) {
	t.Parallel()
	large := errors.New("too large")
	r := &limited.Reader{From: strings.NewReader("abcdef"), Left: 4, Err: large}
	if text, err := io.ReadAll(r); string(text) != "abcd" || !errors.Is(err, large) {
		t.Errorf("%q, %v", text, err)
	}
	r.Left = 3
	if text, err := io.ReadAll(r); string(text) != "ef" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
}

func TestAll(t *testing.T) {
	t.Parallel()
	if text, err := limited.All(strings.NewReader("abc"), 3); string(text) != "abc" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := limited.All(strings.NewReader("abcd"), 3); err == nil || err.Error() != "larger than 3 bytes" {
		t.Errorf("%v", err)
	}
}
