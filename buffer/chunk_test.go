package buffer_test

import (
	"bytes"
	"math"
	"testing"

	"logstow/buffer"
	"logstow/record"
)

func TestRejectsInvalidChunks(t *testing.T) {
	t.Parallel()
	b := open(t, buffer.Options{})
	good := rec(noon, "good")
	for name, c := range map[string]buffer.Chunk{
		"no service":     {Records: []record.Record{good}},
		"service's name": {Service: "Not/One", Records: []record.Record{good}},
		"class":          {Service: "web", Class: "no-class", Records: []record.Record{good}},
		"record size":    chunk(good, record.Record{Time: 1, Message: make([]byte, record.MaxSize+1)}),
		"level":          chunk(good, record.Record{Time: 1, Level: record.Level(record.Levels)}),
		"newlines":       chunk(good, record.Record{Time: 1, Message: bytes.Repeat([]byte("\n"), record.MaxSize)}),
		"time":           chunk(good, record.Record{Time: math.MaxInt64}),
		"early time":     chunk(good, record.Record{Time: math.MinInt64}),
		"time read":      {Service: "web", Read: math.MaxInt64, Records: []record.Record{good}},
	} {
		c.Positions = []buffer.Position{{Input: "in", Value: []byte("1")}}
		if _, err := b.Append(t.Context(), c); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, ok := b.Position("in"); ok || b.Stats().Records != 0 || b.Stats().Bytes != 0 {
		t.Errorf("rejected chunks left something: %+v", b.Stats())
	}
}

// Records of the maximum size are accepted.
func TestAcceptsLargestRecords(t *testing.T) {
	t.Parallel()
	b := open(t, buffer.Options{})
	large := rec(noon, "")
	large.Message = make([]byte, record.MaxSize)
	mustAppend(t, b, chunk(large, rec(noon, "small")))
	b.Drain(t.Context())
	if got := rest(t, b); len(got) != 1 || len(got[0].records) != 2 || len(got[0].records[0].Message) != record.MaxSize {
		t.Errorf("%d batches came out", len(got))
	}
}
