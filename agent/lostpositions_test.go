package agent

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"logstow/buffer"
	"logstow/config"
	"logstow/input/files"
	"logstow/internal/test/await"
)

// losePositions leaves a buffer that has the position of a file and whose log is damaged.
func (w *world) losePositions() {
	w.t.Helper()
	dir := w.settings.BufferDir
	leave(w.t, dir, "i", "web")
	for _, path := range damageLogs(w.t, dir) {
		if err := os.Remove(strings.TrimSuffix(path, ".log") + ".copy"); err != nil {
			w.t.Fatal(err)
		}
	}
}

// The policy for lost positions ends when the inputs have new positions: it does not apply to
// inputs that are added later.
func TestLostPositionsAreRestored(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.losePositions()
	w.append("a.log", "old\n")
	w.append("b.log", "added\n")
	w.settings.OnLostPositions = buffer.SkipLost
	p, stop := w.start()
	reload(p, w.settings, w.settings) // it runs
	await.Until(t, patience, "the positions are not lost any more", func() bool { return p.buffer.LostPositions() == buffer.UndecidedLost })
	again := w.settings
	again.Inputs = append(again.Inputs[:1:1], w.files("b.log"))
	reload(p, again, again)
	w.append("a.log", "new\n")
	log, err := stop()
	if err == nil || !strings.Contains(err.Error(), "positions of the inputs were lost") {
		t.Errorf("%v\n%s", err, log)
	}
	text := w.stored("s")
	if strings.Count(text, "added") != 1 || strings.Count(text, "new") != 1 || strings.Contains(text, "old") {
		t.Errorf("stored: %q\n%s", text, log)
	}
}

// stuck is an input that commits no positions before its end.
type stuck struct{ err error }

func (s stuck) Run(ctx context.Context) error {
	if s.err == nil {
		<-ctx.Done()
	}
	return s.err
}

// An input that is gone is not waited for: one that a reload removed, that failed before one, or that a rejected reload
// opened or stopped.
func TestLostPositionsOverReloads(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fails    error
		inputs   func(w *world) []config.Input
		rejected bool
	}{
		"removed": {inputs: func(*world) []config.Input { return nil }},
		"changed": {inputs: func(w *world) []config.Input { return []config.Input{w.files("b.log")} }},
		"failed":  {fails: errors.New("failed"), inputs: func(w *world) []config.Input { return w.settings.Inputs }},
		"rejected": {rejected: true, inputs: func(w *world) []config.Input {
			invalid := w.files("c.log")
			invalid.Spec.(*files.Spec).Exclude = []string{"["}
			return []config.Input{w.files("b.log"), invalid}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.losePositions()
			p := w.open()
			ctx, cancel := context.WithCancel(t.Context())
			defer func() {
				cancel()
				_ = p.read(ctx) // the errors of inputs that have failed
			}()
			all, err := p.open(ctx, p.Inputs)
			if err != nil {
				t.Fatal(err)
			}
			all[0].reader = stuck{c.fails}
			p.start(ctx, all)
			p.restoration.release() // all are open
			if c.fails != nil {
				p.remove(<-p.ended)
			}
			select {
			case <-p.restoration.done:
				t.Error("an input without positions is not waited for")
			default:
			}
			again := w.settings
			again.Inputs = c.inputs(w)
			if err := p.apply(ctx, again); (err != nil) != c.rejected {
				t.Fatal(err)
			}
			select {
			case <-p.restoration.done:
			case <-time.After(patience):
				t.Error("an input that is gone is waited for")
			}
		})
	}
}
