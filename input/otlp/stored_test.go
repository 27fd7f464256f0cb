package otlp_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"logstow/input"
	"logstow/input/otlp"
)

// Of a text that ends in the middle of a request, the requests before are read, and the error says so.
func TestStoredCut(t *testing.T) {
	t.Parallel()
	const (
		json  = `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{"stringValue":"hello"}}]}]}]}`
		proto = "\x0a\x0d\x12\x0b\x12\x09\x2a\x07\x0a\x05hello"
	)
	for _, text := range []string{json + json[:40], json + json[:1], proto + proto[:9], proto + proto[:1]} {
		opts, err := input.Options{Service: "a", Sink: input.Sink(nil)}.WithDefaults()
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		err = otlp.NewStored(opts).Read(strings.NewReader(text), func(_ string, events []input.Event) error {
			n += len(events)
			return nil
		})
		const want = "read OTLP: the text ends in the middle of a request: unexpected EOF"
		if n != 1 || err == nil || err.Error() != want {
			t.Errorf("%q: %d events, %v", text, n, err)
		}
	}
}

// Whatever a text is, reading it ends, and errors of the receiver are told from those of the text.
func FuzzStored(f *testing.F) {
	f.Add([]byte(`{"resourceLogs":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"a"}}]},"scopeLogs":[{"logRecords":[{"timeUnixNano":"1795791600000000000","body":{"stringValue":"m"}}]}]}]}` + "\n{}"))
	f.Add([]byte("\x0a\x0d\x12\x0b\x12\x09\x2a\x07\x0a\x05hello"))
	f.Add([]byte(`{"resourceLogs":[`))
	f.Add([]byte("\x0a\xff\xff\xff\xff\x7f"))
	f.Fuzz(func(t *testing.T, text []byte) {
		opts, err := input.Options{Service: "a", Sink: input.Sink(nil)}.WithDefaults()
		if err != nil {
			t.Fatal(err)
		}
		n, stop := 0, errors.New("stop")
		err = otlp.NewStored(opts).Read(bytes.NewReader(text), func(_ string, events []input.Event) error {
			n += len(events)
			return nil
		})
		if otlp.IsEmitError(err) {
			t.Fatalf("an error of the text is one of the receiver: %v", err)
		}
		if n == 0 {
			return
		}
		err = otlp.NewStored(opts).Read(io.MultiReader(bytes.NewReader(text)), func(string, []input.Event) error { return stop })
		if !otlp.IsEmitError(err) || !errors.Is(err, stop) {
			t.Fatalf("the error of the receiver is %v", err)
		}
	})
}
