package e2e

import (
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// writer is an application that logs numbered lines and rotates its file. Lines
// are written whole or in two pieces, and some of them out of order in time.
type writer struct {
	id     int
	dir    string
	rotate func(w *writer) error
	rnd    *rand.Rand

	file    *os.File
	lines   int // written so far
	rotated int
	left    int // lines until the file is rotated
	// cut are lines whose second piece was so late that the first may be a line of its own, with the pieces.
	cut map[string][2]string
}

// latePiece is less than the time after which the shipper takes a last line without newline as a line, which is five seconds.
const latePiece = 3 * time.Second

// rotations are the ways in which files are rotated; none removes data.
var rotations = []func(w *writer) error{
	// app.log becomes app.log.N.
	func(w *writer) error {
		return os.Rename(w.path("app.log"), w.path(fmt.Sprintf("app.log.%d", w.rotated)))
	},
	// The next file has a name of its own.
	func(*writer) error { return nil },
	// app.log.1 becomes app.log.2 and so on, and app.log app.log.1.
	func(w *writer) error {
		for i := w.rotated; i > 1; i-- {
			if err := os.Rename(w.path(fmt.Sprintf("app.log.%d", i-1)), w.path(fmt.Sprintf("app.log.%d", i))); err != nil {
				return err
			}
		}
		return os.Rename(w.path("app.log"), w.path("app.log.1"))
	},
}

func (w *writer) path(name string) string { return filepath.Join(w.dir, name) }

// name is that of the file being written.
func (w *writer) name() string {
	if w.id%len(rotations) == 1 {
		return fmt.Sprintf("app-%05d.log", w.rotated)
	}
	return "app.log"
}

// base is the time of the first line.
var base = time.Date(2024, 2, 28, 22, 0, 0, 0, time.UTC)

// text is the Nth line of a writer.
func text(id, n int) string {
	h := fnv.New64a()
	_, _ = fmt.Fprint(h, id, "/", n) // to memory
	sum := h.Sum64()
	at := base.Add(time.Duration(n) * 300 * time.Millisecond)
	if sum%13 == 0 { // late, at times into the bucket before
		at = at.Add(-time.Duration(sum % uint64(3*time.Minute)))
	}
	level := [...]string{"INFO", "WARN", "ERROR", "DEBUG"}[sum%4]
	return fmt.Sprintf("%s %s writer=%d line=%d id=%016x %s", at.Format("2006-01-02 15:04:05.000"), level, id, n, sum, strings.Repeat("x", int(sum%97)))
}

// all are the lines written so far.
func (w *writer) all(into map[string]bool) {
	for n := range w.lines {
		into[text(w.id, n)] = true
	}
}

// write appends some lines.
func (w *writer) write(t *testing.T, count int) {
	var b strings.Builder
	for range count {
		b.WriteString(text(w.id, w.lines))
		b.WriteByte('\n')
		w.lines++
		w.left--
	}
	pieces := []string{b.String()}
	if w.rnd.IntN(4) == 0 {
		at := w.rnd.IntN(b.Len())
		pieces = []string{b.String()[:at], b.String()[at:]}
	}
	began := time.Now()
	for i, piece := range pieces {
		if i > 0 {
			time.Sleep(time.Duration(w.rnd.IntN(20)) * time.Millisecond) // a line that is not whole yet
		}
		if _, err := w.file.WriteString(piece); err != nil {
			t.Error(err)
		}
	}
	if len(pieces) == 2 && time.Since(began) > latePiece {
		w.noteCut(pieces[0], pieces[1])
	}
}

// noteCut notes the line that two pieces have together.
func (w *writer) noteCut(before, after string) {
	before = before[strings.LastIndexByte(before, '\n')+1:]
	after, _, _ = strings.Cut(after, "\n")
	if before == "" {
		return
	}
	if w.cut == nil {
		w.cut = map[string][2]string{}
	}
	w.cut[before+after] = [2]string{before, after}
}

// open begins a new file.
func (w *writer) open() error {
	var err error
	w.file, err = os.OpenFile(w.path(w.name()), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	w.left = 100 + w.rnd.IntN(600)
	return err
}

// next rotates.
func (w *writer) next() error {
	if err := w.file.Close(); err != nil {
		return err
	}
	w.rotated++
	if err := w.rotate(w); err != nil {
		return err
	}
	return w.open()
}

// run writes until stop is closed.
func (w *writer) run(t *testing.T, stop <-chan struct{}) {
	defer func() { _ = w.file.Close() }()
	pace := time.NewTicker(20 * time.Millisecond)
	defer pace.Stop()
	for {
		select {
		case <-stop:
			return
		case <-pace.C:
		}
		w.write(t, 1+w.rnd.IntN(12))
		if w.left <= 0 {
			if err := w.next(); err != nil {
				t.Error(err)
				return
			}
		}
	}
}

// write starts the rig's writers; the function that it returns ends them and
// gives all lines that they wrote.
func (r *rig) write() (stop func() map[string]bool) {
	r.t.Helper()
	end := make(chan struct{})
	done := make(chan *writer, len(rotations))
	for id, rotate := range rotations {
		w := &writer{id: id, dir: filepath.Join(r.logs, fmt.Sprintf("app-%d", id)), rotate: rotate, rnd: rand.New(rand.NewPCG(r.seed, uint64(id)+100))}
		if err := os.MkdirAll(w.dir, 0o700); err != nil {
			r.t.Fatal(err)
		}
		if err := w.open(); err != nil {
			r.t.Fatal(err)
		}
		go func() {
			w.run(r.t, end)
			done <- w
		}()
	}
	var lines map[string]bool
	stop = func() map[string]bool {
		if lines == nil {
			close(end)
			lines = map[string]bool{}
			for range rotations {
				w := <-done
				w.all(lines)
				maps.Copy(r.cut, w.cut)
			}
		}
		return lines
	}
	r.t.Cleanup(func() { stop() })
	return stop
}
