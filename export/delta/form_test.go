package delta_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"logstow/export/delta"
	"logstow/internal/test/testrand"
)

// Bounds of strings are short, UTF-8, and never on the wrong side.
func TestStringBounds(t *testing.T) {
	t.Parallel()
	rnd := testrand.New(t)
	alphabet := []rune{0, 'a', 'z', 'é', '\ud7ff', '\ue000', '\uffff', utf8.MaxRune}
	for range 20_000 {
		var b strings.Builder
		for range rnd.IntN(40) {
			b.WriteRune(alphabet[rnd.IntN(len(alphabet))])
		}
		s := b.String()
		least := delta.MinString(s)
		most, ok := delta.MaxString(s)
		if least > s || !utf8.ValidString(least) || utf8.RuneCountInString(least) > 32 {
			t.Fatalf("%q: minimum %q", s, least)
		}
		if ok && (most < s || !utf8.ValidString(most) || utf8.RuneCountInString(most) > 32) {
			t.Fatalf("%q: maximum %q", s, most)
		}
		if !ok && strings.Trim(s[:32], string(utf8.MaxRune)) != "" {
			t.Fatalf("%q: no maximum", s)
		}
	}
}

func TestTimeBounds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		nanos       int64
		least, most string
	}{
		{0, "1970-01-01T00:00:00.000Z", "1970-01-01T00:00:00.000Z"},
		{1, "1970-01-01T00:00:00.000Z", "1970-01-01T00:00:00.001Z"},
		{-1, "1969-12-31T23:59:59.999Z", "1970-01-01T00:00:00.000Z"},
		{1e6, "1970-01-01T00:00:00.001Z", "1970-01-01T00:00:00.001Z"},
	} {
		if least, most := delta.MinTime(c.nanos), delta.MaxTime(c.nanos); least != c.least || most != c.most {
			t.Errorf("%d: %s to %s", c.nanos, least, most)
		}
	}
}

func TestCleanName(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"a.b": "a.b", "a b,c;d{e}f(g)h\ni\tj=k": "a_b_c_d_e_f_g_h_i_j_k", "é\xff": "é_"} {
		if got := delta.CleanName(in); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
}

func TestRetention(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"interval 7 days": 7 * day, "INTERVAL 1 week": 7 * day, "interval 36 hours": 36 * time.Hour, "2 days": 2 * day,
		"interval 1 month": -1, "interval": -1, "interval -1 days": -1, "7": -1,
	} {
		s := &delta.Snapshot{Metadata: delta.Metadata{Configuration: map[string]string{"k": text}}}
		got, ok := s.Retention("k", 0)
		if ok != (want >= 0) || ok && got != want {
			t.Errorf("%q: %v, %v", text, got, ok)
		}
	}
	if got := delta.Interval(36 * time.Hour); got != "interval 2 days" {
		t.Error(got)
	}
}

// Whatever is in the log, loading it ends with a state or an error.
func FuzzLoad(f *testing.F) {
	f.Add([]byte(`{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}`+"\n"+`{"metaData":{"id":"x","schemaString":"{}"}}`), []byte(nil))
	f.Add([]byte(`{"add":{"path":"%zz","partitionValues":null,"stats":null}}`), []byte("PAR1"))
	m := newMemory()
	table := tableOf(m)
	s, err := table.Load(f.Context())
	mustDo(f, err)
	mustDo(f, table.Commit(f.Context(), s, delta.CommitInfo{}, created(f, nil)))
	mustDo(f, table.WriteCheckpoint(f.Context(), s, start()))
	f.Add(m.blobs["_delta_log/00000000000000000000.json"].body, m.blobs["_delta_log/00000000000000000000.checkpoint.parquet"].body)
	f.Fuzz(func(t *testing.T, entry, checkpoint []byte) {
		m := newMemory()
		m.blobs["_delta_log/00000000000000000000.json"] = stored{body: entry}
		if len(checkpoint) > 0 {
			m.blobs["_delta_log/00000000000000000000.checkpoint.parquet"] = stored{body: checkpoint}
		}
		s, err := tableOf(m).Load(t.Context())
		if (s == nil) != (err != nil) {
			t.Errorf("state %v, error %v", s, err)
		}
		if err == nil {
			_ = s.Check()
		}
	})
}
