package tail_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"logstow/input/tail"
	"logstow/internal/test/effort"
	"logstow/internal/test/testrand"
)

// Every line is read once after random operations on a log, with restarts. The seeds
// are those that once failed. LOGSTOW_SOAK is the number of rounds with other seeds.
func TestSoak(t *testing.T) {
	t.Parallel()
	rounds, err := strconv.ParseUint(os.Getenv("LOGSTOW_SOAK"), 10, 64)
	if err != nil {
		sample := effort.NewSample(t, 3)
		for _, seed := range []uint64{
			1633784056407610590, 5263479453655599791, 8721800152098139948, 12346188857072627207,
			13649887851970008331, 16407152803454389145, 18031752548597895733,
		} {
			if !sample.Has() {
				continue
			}
			t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
				t.Parallel()
				soak(t, seed)
			})
		}
		return
	}
	seed := testrand.Seed(t)
	for i := range rounds {
		t.Logf("%s=%d", testrand.Env, seed+i)
		if soak(t, seed+i); t.Failed() {
			return
		}
	}
}

func soak(t *testing.T, seed uint64) {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 0))
	logs := t.TempDir()
	pattern := []string{"a.log", "a.log*", "**/a.log"}[random.IntN(3)]
	r := &runner{t: t, dir: t.TempDir(), ledger: newLedger(), opts: tail.Options{
		Paths: []string{filepath.Join(logs, pattern)}, FromStart: true, StopWait: time.Second,
		Polling: random.IntN(4) == 0, PollInterval: 200 * time.Millisecond, ScanInterval: 200 * time.Millisecond, MaxOpen: 8 + random.IntN(40),
	}}
	w := newWriter(t, filepath.Join(logs, "a.log"))
	running, rotated := false, []string(nil)
	restart := func() {
		if running = !running; running {
			r.start()
		} else {
			r.stop()
		}
	}
	w.write(3)
	restart()
	r.await(3, longest)
	var done []string
	for range 80 {
		step := []string{"write", "write", "write", "half", "rename", "copy", "gzip", "compress", "restart", "wait"}[random.IntN(10)]
		done = append(done, step)
		switch step {
		case "write":
			w.write(random.IntN(30))
		case "half": // a line in two pieces
			text := line(w.lines) + "\n"
			cut := 1 + random.IntN(len(text)-1)
			_, err := w.f.WriteString(text[:cut])
			w.check(err)
			time.Sleep(time.Duration(random.IntN(200)) * time.Millisecond) // the first piece is read alone, or not
			_, err = w.f.WriteString(text[cut:])
			w.check(err)
			w.lines++
		case "rename":
			name := w.dated()
			w.check(os.Rename(w.path, name))
			w.reopen()
			rotated = append(rotated, name)
		case "copy":
			w.copyTruncate()
		case "gzip":
			w.gzip()
		case "compress":
			if len(rotated) > 0 {
				w.compress(rotated[0])
				rotated = rotated[1:]
			}
		case "restart":
			restart()
		case "wait":
			time.Sleep(time.Duration(random.IntN(400)) * time.Millisecond) // the reader may or may not catch up, and scan
		}
	}
	if !running {
		restart()
	}
	w.write(1)
	r.await(w.lines, longest)
	time.Sleep(500 * time.Millisecond) // two scans find nothing that was read already
	r.stop()
	lost, doubled := r.ledger.compare(w.lines)
	if len(lost)+len(doubled) > 0 {
		t.Errorf("%s, polling %v, after %v: of %d lines lost %v, doubled %v", pattern, r.opts.Polling, done, w.lines, head(lost), head(doubled))
	}
}
