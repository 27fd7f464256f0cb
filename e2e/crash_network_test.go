package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"logstow/internal/crashpoint"
)

// TestCrashAcknowledged kills a program that acknowledges what it has taken, as
// an input from the network does: what was acknowledged is there exactly once,
// and what was not at most once, as the sender did not send it again. The attributes
// are those that were sent.
func TestCrashAcknowledged(t *testing.T) {
	t.Parallel()
	for i, name := range someKinds(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, name == "Azurite")
			s := senders{rig: r, bin: armed(t, "logstow/e2e/testdata/acknowledger"), acked: map[string]bool{}, last: map[string]int{}}
			points := pointNames(t)
			next := len(points) * i / 2
			for run, late := 1, time.Now().Add(5*time.Minute); r.kills < max(3, crashKills(t)/8) || len(s.acked) == 0 && time.Now().Before(late); run++ {
				r.faults(r.rnd.Float64() * 0.3)
				point := ""
				if run%3 != 0 && len(points) > 0 {
					point = points[next%len(points)]
					next++
				}
				s.run(run, point)
			}
			s.settle()
			s.check()
			t.Logf("%d kills, at named points: %v", r.kills, hitList(r.hits))
		})
	}
}

// senders are what the program's runs have acknowledged.
type senders struct {
	*rig
	bin   string
	acked map[string]bool // lines
	// last is the position of each sender that was acknowledged last.
	last map[string]int
}

func (s *senders) args(run int, more ...string) []string {
	return append([]string{"-dir", s.buffer, "-store", s.store, "-run", strconv.Itoa(run)}, more...)
}

// run runs the program until it is killed, at a named point if one is given.
func (s *senders) run(run int, point string) {
	s.t.Helper()
	var env []string
	if point != "" {
		env = []string{crashpoint.Env + "=" + point + ":" + strconv.Itoa(1+s.rnd.IntN(3))}
	}
	policies := []string{"always", "50ms", "never"}
	out := filepath.Join(s.root, "acknowledged")
	p := s.startTo(out, env, s.args(run, "-sync", policies[s.rnd.IntN(len(policies))])...)
	wait := s.instant()
	if point != "" {
		wait = 2 * time.Second
	}
	select {
	case <-p.ended:
	case <-time.After(wait):
		point = ""
		p.kill(s.t)
	}
	s.died(p, point, p.cmd.Args)
	s.took(run, out)
}

// startTo starts the program with its standard output in a file.
func (s *senders) startTo(out string, env []string, args ...string) *process {
	s.t.Helper()
	f, err := os.Create(out)
	if err != nil {
		s.t.Fatal(err)
	}
	defer f.Close()
	return startProcess(s.t, s.bin, f, append(slices.Clone(s.daemon), env...), args...)
}

// took reads what a run has printed.
func (s *senders) took(run int, out string) {
	s.t.Helper()
	printed, err := os.ReadFile(out)
	if err != nil {
		s.t.Fatal(err)
	}
	printed = printed[:bytes.LastIndexByte(printed, '\n')+1]
	for l := range strings.Lines(string(printed)) {
		var sender, chunk, records int
		if n, _ := fmt.Sscanf(l, "at %d %d", &sender, &chunk); n == 2 {
			if last := s.last[strconv.Itoa(sender)]; chunk < last {
				s.t.Errorf("run %d: sender %d is at %d, and %d was acknowledged", run, sender, chunk, last)
			}
			continue
		}
		if n, _ := fmt.Sscanf(l, "ack %d %d %d", &sender, &chunk, &records); n != 3 {
			s.t.Fatalf("run %d printed %q", run, l)
		}
		s.last[strconv.Itoa(sender)] = run*1_000_000 + chunk
		for i := range records {
			s.acked[fmt.Sprintf("run=%d sender=%d chunk=%d line=%d", run, sender, chunk, i)] = true
		}
	}
}

// settle ships what is left.
func (s *senders) settle() {
	s.t.Helper()
	s.faults(0)
	p := s.startTo(filepath.Join(s.root, "drained"), nil, s.args(0, "-drain")...)
	p.end(s.t, patience)
	if p.status() != 0 {
		s.t.Fatalf("the last run ended with status %d, output:\n%s", p.status(), p.tail())
	}
}

// check finds each acknowledged line once. What comes back beside them was sent,
// not acknowledged, and may be there once.
func (s *senders) check() {
	s.t.Helper()
	want, got := map[string]bool{}, []byte(nil)
	s.eachRecord(func(message, attributes string) {
		got = append(append(got, message...), '\n')
		var run, sender, chunk, line int
		if n, _ := fmt.Sscanf(message, "run=%d sender=%d chunk=%d line=%d", &run, &sender, &chunk, &line); n != 4 {
			return
		}
		want[message] = true
		sent := ""
		if line%3 > 0 {
			sent = fmt.Sprintf(`{"chunk":%d,"line":"%d\n","resource":{"run":%d}}`, chunk, line, run)
		}
		if attributes != sent {
			s.t.Errorf("%s has the attributes %q, want %q", message, attributes, sent)
		}
	})
	for l := range s.acked {
		want[l] = true
	}
	unique(s.t, want, got)
	if len(s.acked) == 0 {
		s.t.Error("nothing was acknowledged")
	}
	s.t.Logf("%d lines acknowledged, %d others sent", len(s.acked), len(want)-len(s.acked))
}
