package query

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"logstow/internal/test/effort"
	"logstow/internal/units"

	"github.com/klauspost/compress/gzip"
)

// The limits of the text that a foreign blob is decoded to, of package fetch.
const (
	decodedRatioWant = 200
	decodedLeastWant = 256 << 20
)

// repeated is a gzip of a text, many times over.
func repeated(t testing.TB, text string, times int) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	for range times {
		if _, err := z.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A foreign blob that is decoded to far more than logs are is read to a limit and named:
// what was found before that is there, and the answer is not taken for whole.
func TestDecodedLimit(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Test, "decodes large blocks")
	const name = "x/2025/12/31/2200/000001.log"
	w := newWorld(t, nil, false)
	first := repeated(t, "2025-12-31 22:00:01 found\n", 1)
	rest := repeated(t, strings.Repeat("0", 60<<10)+"\n", 2*decodedLeastWant/(60<<10))
	w.memory.put(name, append(first, rest...), nil)
	limit := max(decodedLeastWant, decodedRatioWant*w.memory.blobs[name].Size)
	q := w.query(Selection{From: origin(), To: origin().Add(time.Hour), Patterns: []string{"found"}}, Options{})
	lines := got(t, q)
	r := q.Report()
	if len(lines) != 1 || !strings.HasSuffix(lines[0], "found") {
		t.Errorf("%q", lines)
	}
	if len(r.Problems) != 1 || r.Problems[0].Object != name || !strings.Contains(r.Problems[0].Error(), "more than "+units.FormatSize(limit)+" of text") {
		t.Errorf("%v", r.Problems)
	}
	if r.BytesDecoded > limit || r.BytesDecoded < limit-1<<20 || r.LinesDecoded < limit/(62<<10) {
		t.Errorf("%d bytes and %d lines decoded", r.BytesDecoded, r.LinesDecoded)
	}
	if !strings.Contains(r.String(), "bytes decoded") {
		t.Errorf("%v", r)
	}
}

// Text without a record is counted as it is decoded, and the end of the context ends it: promptly,
// as no record is ever requested.
func TestDecodingIsCancelled(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Test, "decodes large blocks")
	w := newWorld(t, nil, false)
	w.memory.put("x/2025/12/31/2200/000001.log", repeated(t, strings.Repeat("\n", 1<<20), 200), nil)
	q := w.query(Selection{From: origin(), To: origin().Add(time.Hour), Patterns: []string{"found"}}, Options{})
	p, err := q.Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w.memory.fail = func(string, string) error { // of the only request: all that is left is to decode the text
		cancel()
		return nil
	}
	if _, err := q.Count(ctx, p); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if n := q.Progress(); n.Decoded > 100<<20 || n.Decoded != n.Lines {
		t.Errorf("%+v when cancelled", n)
	}
}
