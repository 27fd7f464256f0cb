package main

import (
	"strings"
	"testing"
	"time"

	"logstow/query"
)

// --tail keeps no more than fits, and reports that.
func TestTailIsBounded(t *testing.T) {
	t.Parallel()
	s := &shelf{bodies: map[string][]byte{}}
	at := time.Date(2026, 11, 20, 15, 0, 0, 0, time.UTC)
	for i := range 5 {
		s.add(t, at.Add(time.Duration(i)*time.Second), strings.Repeat(string(rune('a'+i)), maxTail/3))
	}
	r := &request{tail: 4, sel: query.Selection{From: at, To: at.Add(time.Hour)}}
	q, err := query.New([]query.Store{s.store()}, r.sel, r.opts)
	if err != nil {
		t.Fatal(err)
	}
	p, err := q.Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	if err := r.printTail(t.Context(), q, p, func(m query.Match) error {
		got.WriteByte(m.Message()[0])
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if got.String() != "de" || len(r.notes) != 1 || r.notes[0] != "printed only the last 2 records: --tail 4 would need more than 33.6 MB of memory" {
		t.Errorf("%q, %q", got.String(), r.notes)
	}
}
