package e2e

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"logstow/internal/test/effort"
)

// TestCrashLargeReads kills shippers that read files faster than they are written: their log has compressed blocks.
func TestCrashLargeReads(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Full, "kills while large files are read")
	r := newRig(t, false)
	bin := armedShipper(t)
	points := slices.DeleteFunc(pointNames(t), func(name string) bool {
		return !strings.HasPrefix(name, "wal.") && !strings.HasPrefix(name, "seal")
	})
	r.rnd.Shuffle(len(points), func(i, j int) { points[i], points[j] = points[j], points[i] })
	choose := func(values ...string) string { return values[r.rnd.IntN(len(values))] }
	want, lines := map[string]bool{}, 0
	files := []string{filepath.Join(r.logs, "a.log"), filepath.Join(r.logs, "b.log")}
	for i := 0; r.kills < max(4, crashKills(t)/4); i++ {
		for _, file := range files {
			var b strings.Builder
			for size := r.rnd.IntN(4 << 20); b.Len() < size; lines++ {
				at := base.Add(time.Duration(lines) * time.Millisecond)
				line := fmt.Sprintf("%s INFO line=%d %x %s", at.Format("2006-01-02 15:04:05.000"), lines, r.rnd.Uint64(), strings.Repeat("x", r.rnd.IntN(1500)))
				want[line] = true
				b.WriteString(line + "\n")
			}
			appendFile(t, file, b.String())
		}
		args := append(r.args(
			"--sync", choose("always", "50ms", "never"), "--flush-interval", choose("100ms", "1s", "30s"),
			"--flush-size", choose("1MiB", "2MiB", "8MiB"), "--bucket", "60m", "--drain-timeout", "10ms",
		), r.glob())
		if i%2 == 0 {
			r.killAt(bin, r.instant()/4, args)
		} else {
			r.killPoint(bin, points[i/2%len(points)], args)
		}
	}
	r.settle(r.glob())
	r.check(want)
	r.stored(len(want))
	t.Logf("%d kills, at named points: %v", r.kills, hitList(r.hits))
}
