package journald

import (
	"fmt"
	"strings"
	"testing"

	"logstow/input"
	"logstow/record/attributes"
)

// attributesOf returns the attributes of the only entry in a text.
func attributesOf(t *testing.T, text string) string {
	t.Helper()
	opts, err := (input.Options{Service: "s"}).WithDefaults()
	if err != nil {
		t.Fatal(err)
	}
	b := newBatch(&Options{Options: opts})
	err = newParser(strings.NewReader(text), 1000).each(func(e *entry) error {
		b.add(e, 1)
		return nil
	})
	if err != nil || len(b.made.Records()) != 1 {
		t.Fatalf("%d records, %v", len(b.made.Records()), err)
	}
	got := b.made.Records()[0].Attributes
	if len(got) > 0 && !attributes.Valid(got) {
		t.Fatalf("not valid: %.300s", got)
	}
	if want := int64(len("m") + len(got)); b.size != want || int64(len(b.text)) != want {
		t.Errorf("%d and %d bytes, want %d", b.size, len(b.text), want)
	}
	return string(got)
}

func TestAttributes(t *testing.T) {
	t.Parallel()
	const head = headText + "MESSAGE=m\n__MONOTONIC_TIMESTAMP=1\n"
	long := strings.Repeat("é", 60_000)
	var many strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&many, "F%04d=%s\n", i, "v")
	}
	for name, c := range map[string]struct{ text, want string }{
		"none":           {"", ""},
		"source":         {"_SYSTEMD_UNIT=u\nSYSLOG_IDENTIFIER=i\nPRIORITY=3\n", ""},
		"command":        {"_COMM=c\n", ""},
		"beside":         {"_COMM=c\nSYSLOG_IDENTIFIER=i\n_TRANSPORT=stdout\n", `{"_COMM":"c","_TRANSPORT":"stdout"}`},
		"others":         {"_PID=1\nA=a\"=\tb\nPRIORITY=9\n" + binaryField("B", "\xff\n") + binaryField("C", "two\nlines"), `{"A":"a\"=\tb","B":{"$bytes":"/wo="},"C":"two\nlines","PRIORITY":"9","_PID":"1"}`},
		"several values": {"A=1\nB=x\nA=2\nMESSAGE=n\nA=\n", `{"A":["1","2",""],"B":"x","MESSAGE":"n"}`},
	} {
		if got := attributesOf(t, head+c.text+"\n"); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	for name, c := range map[string]struct{ text, begin string }{
		"long":      {"A=" + long + "\nB=b\n", `{"$cut":1,"A":"éé`},
		"very long": {strings.Repeat("A="+long+"\n", 20) + "B=b\n", `{"$cut":`},
		"many":      {many.String(), `{"$cut":872,"F0000":"v"`},
		"much":      {"A=" + long + "\nB=" + long + "\nC=" + long + "\nD=" + strings.Repeat("x", 60<<10) + "\nE=" + long + "\nF=\n", `{"$cut":`},
	} {
		if got := attributesOf(t, head+c.text+"\n"); !strings.HasPrefix(got, c.begin) || len(got) > attributes.MaxSize {
			t.Errorf("%s: %.300s", name, got)
		}
	}
}
