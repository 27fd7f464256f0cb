package wal

import (
	"testing"

	"logstow/internal/test/disktest"
)

// Trim reports whichever step of beginning a file and removing the oldest fails.
func TestTrimReportsFailure(t *testing.T) {
	t.Parallel()
	for n := 0; ; n++ {
		fs := disktest.New()
		l, _ := open(t, fs)
		if oldest := l.Oldest(); oldest != 0 {
			t.Errorf("the oldest file of one has record %d", oldest)
		}
		runs, records, positions := sample()
		if _, _, err := l.Append(Records{Service: "web", Runs: runs, Records: records, Positions: positions}); err != nil {
			t.Fatal(err)
		}
		fs.Arm(n, disktest.Die)
		err := l.Trim(l.Next(), true)
		reached := n > 0 && fs.Steps() >= n
		if reached != (err != nil) {
			t.Errorf("step %d: %v", n, err)
		}
		if n > 0 && !reached {
			return
		}
	}
}
