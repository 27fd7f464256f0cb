package record_test

import (
	"encoding/json"
	"slices"
	"testing"

	"logstow/record"
)

func TestCounts(t *testing.T) {
	t.Parallel()
	c := record.Counts{record.None: 1, record.Error: 2}
	c.Add(record.Counts{record.Error: 3, record.Info: 4})
	if want := (record.Counts{record.None: 1, record.Info: 4, record.Error: 5}); c != want || c.Total() != 10 {
		t.Errorf("got %v, %d in total, want %v", c, c.Total(), want)
	}
	var levels []record.Level
	var counts []uint64
	for l, n := range c.All() {
		levels, counts = append(levels, l), append(counts, n)
	}
	if !slices.Equal(levels, []record.Level{record.None, record.Info, record.Error}) || !slices.Equal(counts, []uint64{1, 4, 5}) {
		t.Errorf("all are %v with %v", levels, counts)
	}
	if b, err := json.Marshal(c); err != nil || string(b) != `{"-":1,"ERROR":5,"INFO":4}` {
		t.Errorf("JSON %s, %v", b, err)
	}
}
