package journald

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

const headText = "__CURSOR=c1\n__REALTIME_TIMESTAMP=1795000000000000\n"

func binaryField(name, value string) string {
	return name + "\n" + string(binary.LittleEndian.AppendUint64(nil, uint64(len(value)))) + value + "\n"
}

// parse returns what is read: cursor, time, priority, transport/unit/identifier/command, size and message.
func parse(text io.Reader, limit int) (got []string, err error) {
	err = newParser(text, limit).each(func(e *entry) error {
		line := fmt.Sprintf("%s %d %d %s/%s/%s/%s", e.cursor, e.time, e.priority, e.transport, e.unit, e.identifier, e.command)
		if e.has {
			line += fmt.Sprintf(" %d %q", e.size, e.message)
		}
		got = append(got, line)
		return nil
	})
	return got, err
}

func TestParser(t *testing.T) {
	t.Parallel()
	const empty = "c1 1795000000000000 -1 ///"
	long := strings.Repeat("x", 200<<10)
	cut := fmt.Sprintf("%s %d %q", empty, 200<<10, long[:1000])
	for name, test := range map[string]struct {
		text string
		want []string
		err  error
	}{
		"nothing":     {"", nil, nil},
		"empty lines": {"\n\n\n", nil, nil},
		"a remark":    {"-- No entries --\n", nil, nil},
		"text": {
			headText + "MESSAGE=a=b\nPRIORITY=3\n_SYSTEMD_UNIT=u\nSYSLOG_IDENTIFIER=i\n_COMM=c\n_TRANSPORT=stdout\n_PID=1\n\n",
			[]string{`c1 1795000000000000 3 stdout/u/i/c 3 "a=b"`},
			nil,
		},
		"binary":          {headText + binaryField("MESSAGE", "a\nb\x00=\xff\n") + "\n", []string{empty + ` 7 "a\nb\x00=\xff\n"`}, nil},
		"empty":           {headText + "MESSAGE=\n\n", []string{empty + ` 0 ""`}, nil},
		"two":             {headText + "MESSAGE=a\n\n" + headText + "\n\n", []string{empty + ` 1 "a"`, empty}, nil},
		"long":            {headText + "MESSAGE=" + long + "\n\n", []string{cut}, nil},
		"long binary":     {headText + binaryField("MESSAGE", long) + "\n", []string{cut}, nil},
		"other long":      {headText + binaryField("OTHER", long) + "B=" + long + "\n" + long + "=1\n\n", []string{empty}, nil},
		"the first":       {headText + "MESSAGE=a\nMESSAGE=b\n\n", []string{empty + ` 1 "a"`}, nil},
		"priorities":      {headText + "PRIORITY=8\n\n" + headText + "PRIORITY=12\n\n", []string{empty, empty}, nil},
		"ends in a name":  {headText + "\n" + headText + "MESS", []string{empty}, io.ErrUnexpectedEOF},
		"ends in a value": {headText + "MESSAGE=abc", nil, io.ErrUnexpectedEOF},
		"ends in binary":  {headText + binaryField("MESSAGE", "abc")[:18], nil, io.ErrUnexpectedEOF},
		"ends in length":  {headText + "MESSAGE\n\x01\x00", nil, io.ErrUnexpectedEOF},
		"ends early":      {headText, nil, io.ErrUnexpectedEOF},
		"huge":            {headText + "MESSAGE\n\xff\xff\xff\xff\xff\xff\xff\xff", nil, errMalformed},
		"wrong length":    {headText + "MESSAGE\n\x01\x00\x00\x00\x00\x00\x00\x00abc\n\n", nil, errMalformed},
		"no cursor":       {"__REALTIME_TIMESTAMP=1\nMESSAGE=a\n\n", nil, errMalformed},
		"long cursor":     {"__CURSOR=" + long + "\n__REALTIME_TIMESTAMP=1\n\n", nil, errMalformed},
		"no time":         {"__CURSOR=c\nMESSAGE=a\n\n", nil, errMalformed},
		"time is none":    {"__CURSOR=c\n__REALTIME_TIMESTAMP=x\n\n", nil, errMalformed},
		"JSON":            {`{"MESSAGE":"a"}` + "\n", nil, io.ErrUnexpectedEOF},
	} {
		for how, r := range map[string]io.Reader{"at once": strings.NewReader(test.text), "in halves": iotest.HalfReader(strings.NewReader(test.text))} {
			got, err := parse(r, 1000)
			if !errors.Is(err, test.err) {
				t.Errorf("%s, %s: %v, want %v", name, how, err, test.err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s, %s (-want +got)\n%.2000s", name, how, diff)
			}
		}
	}
}

// FuzzParser reads anything; what it keeps is bounded.
func FuzzParser(f *testing.F) {
	f.Add([]byte(headText + "MESSAGE=a\nPRIORITY=3\n\n" + headText + binaryField("MESSAGE", "b\n") + "\n"))
	f.Add([]byte("-- No entries --\n"))
	f.Add([]byte(headText + "MESSAGE\n\xff\xff\xff\xff\x00\x00\x00\x00ab"))
	f.Fuzz(func(t *testing.T, b []byte) {
		p := newParser(bytes.NewReader(b), 100)
		for {
			e, err := p.next()
			for name, v := range p.values {
				if cap(v.b) > 2*maxValue || len(v.b) > v.limit {
					t.Fatalf("%q: %d bytes of %s are kept", b, len(v.b), name)
				}
			}
			if err != nil {
				if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, errMalformed) {
					t.Fatalf("%q: %v", b, err)
				}
				return
			}
			if len(e.cursor) == 0 || len(e.message) > 100 || e.size < int64(len(e.message)) {
				t.Fatalf("%q: %+v", b, e)
			}
		}
	})
}

// FuzzRoundTrip reads what was written.
func FuzzRoundTrip(f *testing.F) {
	f.Add("a\nb", "unit", uint8(3))
	f.Add("", "", uint8(0))
	f.Fuzz(func(t *testing.T, message, unit string, priority uint8) {
		if len(unit) > maxValue {
			return
		}
		text := headText + binaryField("MESSAGE", message) + binaryField("_SYSTEMD_UNIT", unit) + binaryField("PRIORITY", string('0'+rune(priority%8))) + "\n"
		got, err := parse(strings.NewReader(text+text), 1<<20)
		if err != nil || len(got) != 2 {
			t.Fatalf("%d entries, %v", len(got), err)
		}
		if want := fmt.Sprintf("c1 1795000000000000 %d /%s// %d %q", priority%8, unit, len(message), message); got[1] != want {
			t.Errorf("%q, want %q", got[1], want)
		}
	})
}
