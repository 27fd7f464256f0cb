package wal

import (
	"testing"

	"logstow/internal/test/disktest"
)

// Behind a damaged entry every kind of entry is found again, without the copy too.
func TestEntriesBehindDamage(t *testing.T) {
	t.Parallel()
	runs, records, positions := sample()
	for name, e := range map[string]Records{
		"records":                  {Service: "web", Runs: runs, Records: records, Positions: positions},
		"records with a parser":    {Service: "web", Parse: "none/1", Runs: runs, Records: records, Positions: positions},
		"blocks with a parser":     *blocksSample(),
		"positions with a parser":  {Service: "web", Parse: "none/1", Positions: positions},
		"positions without others": {Positions: positions},
	} {
		fs := disktest.New()
		l, _ := open(t, fs)
		at := l.files[0].size
		if _, _, err := l.Append(Records{Service: "web", Runs: runs, Records: records}); err != nil {
			t.Fatal(err)
		}
		if _, _, err := l.Append(e); err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		fs.Change(fs.Paths(suffix)[0], func(b []byte) []byte { b[at+frameHead+3] ^= 1; return b })
		if err := fs.Remove(fs.Paths(copySuffix)[0]); err != nil {
			t.Fatal(err)
		}
		l, damage := open(t, fs)
		n := 0
		for _, r := range replay(t, l) {
			n += len(r.Records)
		}
		if len(damage) != 1 || n != count(e.Runs) {
			t.Errorf("%s: %d records of %d, damage %+v", name, n, count(e.Runs), damage)
		}
		if _, ok := l.Position(e.Positions[0].Input); !ok {
			t.Errorf("%s: the position is lost", name)
		}
	}
}
