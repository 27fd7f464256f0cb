package record_test

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"logstow/record"
	"logstow/record/attributes"
)

const at = "2026-11-20T15:04:05.123456789Z"

func mustTime(t testing.TB, s string) int64 {
	t.Helper()
	nano, err := record.ParseTime(s)
	if err != nil {
		t.Fatalf("ParseTime(%q): %v", s, err)
	}
	return nano
}

func TestTextForm(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		level  record.Level
		source string
		attrs  string
		msg    string
		want   string
	}{
		{"plain", record.Error, "app.log", "", "it broke", at + "\tERROR\tapp.log\t-\tit broke\n"},
		{"no level", record.None, "-", "", "hello", at + "\t-\t-\t-\thello\n"},
		{"empty", record.Info, "a", "", "", at + "\tINFO\ta\t-\t\n"},
		{"two lines", record.Info, "a", "", "x\ny", at + "\tINFO\ta\t-\tx\n\ty\n"},
		{"only a newline", record.Info, "a", "", "\n", at + "\tINFO\ta\t-\t\n\t\n"},
		{"ends in newlines", record.Info, "a", "", "x\n\n", at + "\tINFO\ta\t-\tx\n\t\n\t\n"},
		{"starts with tabs", record.Info, "a", "", "\t\tx", at + "\tINFO\ta\t-\t\t\tx\n"},
		{"newline and tab", record.Info, "a", "", "x\n\ty", at + "\tINFO\ta\t-\tx\n\t\ty\n"},
		{"odd bytes", record.Info, "a", "", "\r\x00\xff\xfe\r", at + "\tINFO\ta\t-\t\r\x00\xff\xfe\r\n"},
		{"looks like a record", record.Info, "a", "", "x\n" + at + "\tINFO\ta\t-\tx", at + "\tINFO\ta\t-\tx\n\t" + at + "\tINFO\ta\t-\tx\n"},
		{"attributes", record.Info, "a", `{"n":1,"s":"x\ty\n"}`, "x\ny", at + "\tINFO\ta\t" + `{"n":1,"s":"x\ty\n"}` + "\tx\n\ty\n"},
		{"attributes only", record.Info, "a", `{"":null}`, "", at + "\tINFO\ta\t{\"\":null}\t\n"},
		{"a dash", record.Info, "a", "", "-\t-", at + "\tINFO\ta\t-\t-\t-\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := record.Record{Time: mustTime(t, at), Level: tc.level, Source: tc.source, Message: []byte(tc.msg)}
			if tc.attrs != "" {
				r.Attributes = []byte(tc.attrs)
			}
			got := record.AppendText(nil, r)
			if diff := cmp.Diff(tc.want, string(got)); diff != "" {
				t.Fatalf("AppendText (-want +got):\n%s", diff)
			}
			checkParses(t, got, r)
		})
	}
}

// checkParses checks that text is exactly r.
func checkParses(t *testing.T, text []byte, r record.Record) {
	t.Helper()
	line, rest, err := record.Next(text)
	if err != nil {
		t.Fatalf("Next(%q): %v", text, err)
	}
	if len(rest) != 0 || !bytes.Equal(line.Text, text) {
		t.Fatalf("Next(%q): Text %q, rest %q", text, line.Text, rest)
	}
	if before := text[line.Prefix():]; before[0] != '-' && !bytes.HasPrefix(before, r.Attributes) {
		t.Fatalf("Prefix of %q is %d", text, line.Prefix())
	}
	got := record.Record{
		Time: line.Time, Level: line.Level, Source: string(line.Source), Attributes: line.Attributes,
		Message: record.AppendMessage([]byte{}, line.Raw),
	}
	want := r
	want.Source = record.CleanSource(r.Source)
	want.Message = append([]byte{}, r.Message...)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("Next(%q) (-want +got):\n%s", text, diff)
	}
}

func TestNextWalksABlock(t *testing.T) {
	t.Parallel()
	messages := []string{"one", "two\nlines", "", "\n", "last"}
	var text []byte
	var e record.Encoder
	var starts []int
	for i, m := range messages {
		starts = append(starts, len(text))
		text = e.AppendText(text, &record.Record{Time: int64(i) * 1e8, Level: record.Level(i), Source: "s", Message: []byte(m)})
	}
	starts = append(starts, len(text))
	rest := text
	for i, m := range messages {
		line, after, err := record.Next(rest)
		if err != nil {
			t.Fatalf("record %d: %v", i, err)
		}
		if got := string(record.AppendMessage(nil, line.Raw)); got != m || line.Time != int64(i)*1e8 || line.Level != record.Level(i) {
			t.Errorf("record %d: %+v, message %q, want %q", i, line, got, m)
		}
		rest = after
		for at := starts[i]; at < starts[i+1]; at++ {
			for _, floor := range starts[:i+1] {
				start, behind := record.Start(text, floor, at)
				if first := !bytes.ContainsRune(text[starts[i]:at], '\n'); start != starts[i] || behind == first {
					t.Errorf("Start(%d, %d) = %d, %v, want %d", floor, at, start, behind, starts[i])
				}
			}
			end, more := record.End(text, at)
			if last := !bytes.ContainsRune(text[at:starts[i+1]-1], '\n'); end != starts[i+1]-1 || more == last {
				t.Errorf("End(%d) = %d, %v, want %d", at, end, more, starts[i+1]-1)
			}
		}
	}
	if len(rest) != 0 {
		t.Errorf("left over: %q", rest)
	}
}

func TestNextRejects(t *testing.T) {
	t.Parallel()
	good := at + "\tERROR\tapp\t-\tm\n"
	for name, text := range map[string]string{
		"empty":              "",
		"no newline":         strings.TrimSuffix(good, "\n"),
		"ends in a tab":      good + "\t",
		"starts with a tab":  "\t" + good,
		"day out of range":   strings.Replace(good, "11-20", "11-31", 1),
		"no UTC mark":        strings.Replace(good, "Z", " ", 1),
		"level in lower":     strings.Replace(good, "ERROR", "error", 1),
		"level unknown":      strings.Replace(good, "ERROR", "NOTICE", 1),
		"no level column":    at + "\tERRORapp\n",
		"no source column":   at + "\tERROR\tapp\n",
		"no message column":  at + "\tERROR\tapp m\n",
		"no attributes":      at + "\tERROR\tapp\tm\n",
		"attributes empty":   at + "\tERROR\tapp\t\tm\n",
		"attributes {}":      at + "\tERROR\tapp\t{}\tm\n",
		"attributes spaced":  at + "\tERROR\tapp\t{\"a\": 1}\tm\n",
		"attributes order":   at + "\tERROR\tapp\t{\"b\":1,\"a\":1}\tm\n",
		"attributes long":    at + "\tERROR\tapp\t{\"a\":\"" + strings.Repeat("x", attributes.MaxSize) + "\"}\tm\n",
		"empty source":       at + "\tERROR\t\t-\tm\n",
		"control in source":  at + "\tERROR\ta\rb\t-\tm\n",
		"source of 256":      at + "\tERROR\t" + strings.Repeat("a", 256) + "\t-\tm\n",
		"space for a column": at + " ERROR\tapp\tm\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if line, _, err := record.Next([]byte(text)); !errors.Is(err, record.ErrText) {
				t.Errorf("Next(%q) = %+v, %v; want an error", text, line, err)
			}
		})
	}
	long := at + "\tERROR\t" + strings.Repeat("a", 255) + "\t-\tm\n"
	if _, _, err := record.Next([]byte(long)); err != nil {
		t.Errorf("source of 255 bytes: %v", err)
	}
}

func TestEncoderReuse(t *testing.T) {
	t.Parallel()
	var e record.Encoder
	records := []record.Record{
		{Source: ""},
		{Source: "a\tb", Time: 1},
		{Source: "a\tb", Time: -1},
		{Source: "c", Time: 1e9, Message: []byte("x")},
		{Source: "", Time: 1e9 - 1, Level: 200},
		{Time: math.MinInt64},
		{Time: math.MaxInt64},
	}
	for _, r := range records {
		if diff := cmp.Diff(string(record.AppendText(nil, r)), string(e.AppendText(nil, &r))); diff != "" {
			t.Errorf("%+v: Encoder differs (-want +got):\n%s", r, diff)
		}
	}
}

func TestNoAllocation(t *testing.T) {
	r := record.Record{Time: mustTime(t, at), Level: record.Warn, Source: "app.log", Message: []byte("a\nb")}
	dst, msg := make([]byte, 0, 1<<10), make([]byte, 0, 1<<10)
	var e record.Encoder
	if n := testing.AllocsPerRun(100, func() {
		text := e.AppendText(dst, &r)
		line, _, err := record.Next(text)
		if err != nil {
			t.Fatal(err)
		}
		record.AppendMessage(msg, line.Raw)
	}); n != 0 {
		t.Errorf("%v allocations a record", n)
	}
}

func FuzzText(f *testing.F) {
	f.Add(int64(0), byte(0), "", []byte(""))
	f.Add(int64(math.MaxInt64), byte(6), "a\nb", []byte("\n\t\n"))
	f.Add(int64(math.MinInt64), byte(9), strings.Repeat("é", 200), []byte("x\r\n\x00\xff\t"))
	f.Fuzz(func(t *testing.T, nano int64, level byte, source string, msg []byte) {
		r := record.Record{Time: nano, Level: record.Level(level) % record.Level(record.Levels), Source: source, Message: msg}
		checkParses(t, record.AppendText(nil, r), r)
	})
}

func FuzzNext(f *testing.F) {
	f.Add([]byte(at + "\tERROR\tapp\t-\tm\n"))
	f.Add([]byte(at + "\tINFO\ta\t{\"a\":[1,{\"b\":\"\\n\"}]}\tm\n"))
	f.Add([]byte(at + "\t-\t-\t-\t\n\t\n\tx\n" + at + "\tINFO\tb\t-\t\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		for len(text) > 0 {
			line, rest, err := record.Next(text)
			if err != nil {
				return
			}
			again := record.AppendText(nil, record.Record{
				Time: line.Time, Level: line.Level, Source: string(line.Source), Attributes: line.Attributes,
				Message: record.AppendMessage(nil, line.Raw),
			})
			if !bytes.Equal(again, line.Text) {
				t.Fatalf("Next accepted %q, AppendText writes %q", line.Text, again)
			}
			if end, _ := record.End(text, 0); end != len(line.Text)-1 {
				t.Fatalf("End(%q, 0) = %d, want %d", text, end, len(line.Text)-1)
			}
			columns, ok := record.Split(line.Text[:len(line.Text)-1])
			if !ok || columns.Level != line.Level || !bytes.Equal(columns.Source, line.Source) || !bytes.Equal(columns.Raw, line.Raw) || !bytes.Equal(columns.Attributes, line.Attributes) {
				t.Fatalf("Split(%q) = %+v, %v", line.Text, columns, ok)
			}
			text = rest
		}
	})
}

func BenchmarkAppendText(b *testing.B) {
	r := record.Record{Time: mustTime(b, at), Level: record.Info, Source: "app.log", Message: bytes.Repeat([]byte("x"), 150)}
	var e record.Encoder
	dst := make([]byte, 0, 1<<10)
	b.SetBytes(int64(len(r.Message)))
	b.ReportAllocs()
	for b.Loop() {
		r.Time += 12345678
		dst = e.AppendText(dst[:0], &r)
	}
}

func BenchmarkNext(b *testing.B) {
	var text []byte
	for i := range 1000 {
		text = record.AppendText(text, record.Record{Time: int64(i) * 1e7, Level: record.Info, Source: "app.log", Message: bytes.Repeat([]byte("x"), 150)})
	}
	b.SetBytes(int64(len(text) / 1000))
	b.ReportAllocs()
	rest := text
	for b.Loop() {
		_, after, err := record.Next(rest)
		if err != nil {
			b.Fatal(err)
		}
		if rest = after; len(rest) == 0 {
			rest = text
		}
	}
}

func TestMessage(t *testing.T) {
	t.Parallel()
	var m record.Message
	for _, message := range []string{"a\n\tb\n", "", "\n\n", "c"} {
		if m.Decode(record.Stored([]byte(message))); string(m) != message {
			t.Errorf("got %q, want %q", m, message)
		}
	}
}
