package e2e

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"logstow/internal/test/await"
	"logstow/internal/test/effort"
)

// rotor is an application whose log is rotated a hundred times a second.
type rotor struct {
	t    *testing.T
	path string
	file *os.File
	// lines and turns count what was written and rotated.
	lines, turns int
	// kept are rotated files that are to be removed.
	kept []rotated
	// removed counts those that were, gone the lines in them.
	removed, gone int
	// reader is the shipper that runs.
	reader *process
}

type rotated struct {
	name string
	// lines are those written by its end.
	lines int
	// open is since when the shipper has it open, zero while it has not.
	open time.Time
}

func newRotor(t *testing.T, path string) *rotor {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	w := &rotor{t: t, path: path}
	w.open()
	return w
}

func (w *rotor) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *rotor) open() {
	var err error
	w.file, err = os.OpenFile(w.path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	w.must(err)
}

func (w *rotor) write(count int) {
	for range count {
		_, err := fmt.Fprintln(w.file, text(0, w.lines))
		w.must(err)
		w.lines++
	}
}

// next is the name that the file gets.
func (w *rotor) next() string {
	w.turns++
	return fmt.Sprintf("%s-20261121-%06d", w.path, w.turns)
}

// rename gives the file a name with a date.
func (w *rotor) rename() string {
	name := w.next()
	w.must(w.file.Close())
	w.must(os.Rename(w.path, name))
	w.open()
	return name
}

// shift gives the rotated files the next number each, as logrotate does.
func (w *rotor) shift() {
	w.must(w.file.Close())
	for i := w.turns; i > 0; i-- {
		w.must(os.Rename(fmt.Sprintf("%s.%d", w.path, i), fmt.Sprintf("%s.%d", w.path, i+1)))
	}
	w.must(os.Rename(w.path, w.path+".1"))
	w.turns++
	w.open()
}

// truncate copies the file and empties it, while nothing is written to it.
func (w *rotor) truncate() string {
	name := w.next()
	content, err := os.ReadFile(w.path)
	w.must(err)
	w.must(os.WriteFile(name, content, 0o600))
	w.must(os.Truncate(w.path, 0))
	return name
}

// compress does what gzip does: the modification time stays.
func (w *rotor) compress(name string) {
	info, err := os.Stat(name)
	w.must(err)
	content, err := os.ReadFile(name)
	w.must(err)
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err = z.Write(content)
	w.must(err)
	w.must(z.Close())
	w.must(os.WriteFile(name+".gz", b.Bytes(), 0o600))
	w.must(os.Chtimes(name+".gz", info.ModTime(), info.ModTime()))
	w.must(os.Remove(name))
}

// remove renames the file, and removes those that the shipper has had open for half a second.
func (w *rotor) remove() {
	w.kept = append(w.kept, rotated{name: w.rename(), lines: w.lines})
	now, open := time.Now(), w.reader.files()
	for i := range w.kept {
		switch f := &w.kept[i]; {
		case !open[f.name]:
			f.open = time.Time{}
		case f.open.IsZero():
			f.open = now
		}
	}
	for len(w.kept) > 0 && !w.kept[0].open.IsZero() && now.Sub(w.kept[0].open) > 500*time.Millisecond {
		w.must(os.Remove(w.kept[0].name))
		w.gone = w.kept[0].lines
		w.kept = w.kept[1:]
		w.removed++
	}
}

// files are those that a process has open.
func (p *process) files() map[string]bool {
	dir := fmt.Sprintf("/proc/%d/fd", p.cmd.Process.Pid)
	entries, _ := os.ReadDir(dir) // there are none once it has ended
	open := make(map[string]bool, len(entries))
	for _, e := range entries {
		if name, err := os.Readlink(filepath.Join(dir, e.Name())); err == nil {
			open[name] = true
		}
	}
	return open
}

// all are the lines that were written.
func (w *rotor) all() map[string]bool {
	lines := make(map[string]bool, w.lines)
	for n := range w.lines {
		lines[text(0, n)] = true
	}
	return lines
}

// follow starts a shipper that follows a glob.
func (r *rig) follow(glob string) *process {
	return r.start(plain(), nil, r.args("--bucket", "60m", glob)...)
}

// started reports whether the shipper has logged that it has.
func (p *process) started() bool { return strings.Contains(p.output(), `"started"`) }

// reads reports whether something of what was written is stored.
func (r *rig) reads() bool {
	_, err := os.Stat(filepath.Join(r.dir, "crash"))
	return err == nil
}

// found is how many records a query finds.
func (r *rig) found() int {
	r.t.Helper()
	out := r.command(r.t, nil, "logq", "query", "-s", "crash", "--from", "2000-01-01", "--to", "2100-01-01", "-o", "raw", "--no-cache")
	if out.status > 1 { // 1 is nothing found
		r.t.Fatalf("logq: status %d\n%s", out.status, out.errs)
	}
	return bytes.Count(out.out, []byte("\n"))
}

// Whatever rotates a file a hundred times a second, and while the shipper is signalled
// to end, is killed and begins again in the middle of it, each line is found once.
func TestRotationStorms(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Full, "240 rotations of each kind, with restarts")
	rotations := []struct {
		name, glob string
		every      int // so many turns there is a restart of each kind
		turn       func(w *rotor)
	}{
		{"rename", "a.log", 80, func(w *rotor) { w.rename() }},
		{"rename to names that match", "a.log*", 80, func(w *rotor) { w.rename() }},
		{"rename to numbers", "a.log", 80, (*rotor).shift},
		{"gzip", "a.log", 80, func(w *rotor) { w.compress(w.rename()) }},
		{"copytruncate", "a.log", 80, func(w *rotor) { w.truncate() }},
		{"copytruncate and gzip", "a.log", 80, func(w *rotor) { w.compress(w.truncate()) }},
		{"rename and delete", "a.log", 240, (*rotor).remove},
	}
	for _, c := range rotations {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, false)
			w := newRotor(t, filepath.Join(r.logs, "a.log"))
			glob := filepath.Join(r.logs, c.glob)
			p := r.follow(glob)
			w.reader = p
			w.write(1)
			await.Until(t, patience, "the file is read", r.reads) // what is rotated before it was seen is not
			const turns = 240
			for i := range turns {
				began := time.Now()
				w.write(4)
				time.Sleep(2 * time.Millisecond) // a program does not write all its lines at once
				w.write(3)
				c.turn(w)
				switch at := i % c.every; at {
				case c.every / 4: // signalled to end, and begun again some turns later
					p.signal(t, syscall.SIGTERM)
				case c.every * 3 / 4:
					// One that has had a removed file open may not have read it yet.
					await.Until(t, patience, "removed files are read", func() bool { return w.gone == 0 || r.found() >= w.gone })
					p.kill(t)
				case c.every/4 + 5, c.every*3/4 + 5:
					p.end(t, patience)
					p = r.follow(glob)
					w.reader = p
				}
				time.Sleep(10*time.Millisecond - time.Since(began)) // a hundred rotations a second
			}
			if c.every == turns {
				await.Until(t, patience, "a file is removed", func() bool { w.write(1); w.remove(); return w.removed > 0 })
			}
			w.write(1)
			defer func() { // also if not all is found in time: this tells what is lost
				r.check(w.all())
				r.stored(w.lines)
			}()
			await.Until(t, patience, "all is found", func() bool { return r.found() >= w.lines })
			p.signal(t, syscall.SIGTERM)
			p.end(t, patience)
			if p.status() != 0 {
				t.Errorf("ended with status %d, output:\n%s", p.status(), p.tail())
			}
		})
	}
}

// A program that goes on writing while its file is copied and then emptied loses
// what it writes between the two: that is in no file. All else is found once.
func TestCopyTruncateWindow(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Full, "1,000 lines a second through 50 rotations")
	r := newRig(t, false)
	w := newRotor(t, filepath.Join(r.logs, "a.log"))
	p := r.follow(w.path)
	w.write(1)
	await.Until(t, patience, "the file is read", r.reads) // a copy of one never read is not
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		pace := time.NewTicker(time.Millisecond)
		defer pace.Stop()
		for {
			select {
			case <-stop:
				return
			case <-pace.C:
				w.write(1)
			}
		}
	}()
	rotate := &rotor{t: t, path: w.path}
	const turns = 50
	for range turns {
		time.Sleep(20 * time.Millisecond) // the pace of the rotations: lines are written, and read, in between
		rotate.truncate()
	}
	close(stop)
	<-stopped
	kept := make(map[string]bool)
	names, err := filepath.Glob(w.path + "*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(f)
		if err != nil {
			t.Fatal(err)
		}
		_ = f.Close() // only read
		for l := range strings.Lines(string(content)) {
			kept[strings.TrimSuffix(l, "\n")] = true
		}
	}
	await.Until(t, patience, "what is in the files is found", func() bool { return r.found() >= len(kept) })
	p.signal(t, syscall.SIGTERM)
	p.end(t, patience)
	got := make(map[string]bool)
	out := r.must(t, "logq", "query", "-s", "crash", "--from", "2000-01-01", "--to", "2100-01-01", "-o", "raw", "--no-cache")
	for l := range strings.Lines(string(out)) {
		got[strings.TrimSuffix(l, "\n")] = true
	}
	// What was read before the file was emptied is found too, though it is in no file.
	for l := range kept {
		if !got[l] {
			t.Errorf("in a file, but not found: %s", l)
		}
	}
	for l := range w.all() {
		if got[l] {
			kept[l] = true
		}
	}
	unique(t, kept, out)
	t.Logf("of %d lines, written at 1,000 a second, %d were lost in %d rotations", w.lines, w.lines-len(got), turns)
}
