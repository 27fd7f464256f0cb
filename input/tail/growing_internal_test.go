package tail

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// growing is the content of a file that gets the rest of its bytes before a certain read.
type growing struct {
	content
	file  *diskFile
	rest  []byte
	reads int
}

func (g *growing) ReadAt(p []byte, at int64) (int, error) {
	if g.reads--; g.reads == 0 {
		g.file.data = append(g.file.data, g.rest...)
	}
	return g.content.ReadAt(p, at)
}

// A compressed file that is completed while it is identified is identified again: by a part of it,
// it may be taken for a copy of another file.
func TestCompressedWhileIdentified(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	for i := range 100 {
		fmt.Fprintf(z, "%08d only here\n", i)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	const path = logPath + ".20261121-000001.gz"
	waits := 0
	for size := range b.Len() {
		for reads := 1; reads < 16; reads++ {
			d := newDisk()
			m := &modelReader{t: t, disk: d, pattern: logPath, known: newCatalog(), files: make(map[fileID]*modelFile)}
			d.create(logPath, nil)
			m.observe(d.entry(logPath), candidate{})
			f := d.create(path, bytes.Clone(b.Bytes()[:size]))
			r, e, err := d.open(path)
			if err != nil {
				t.Fatal(err)
			}
			c := &candidate{entry: e, resolved: path, unmatched: true}
			c.content = &growing{r, f, b.Bytes()[size:], reads}
			a := m.view().identify(c)
			switch {
			case a.verb == wait:
				waits++
			case a.verb == skip && size < len(gzipMagic): // until it is modified
			case a.verb != start || len(f.data) < b.Len():
				t.Errorf("%d of %d bytes, complete before read %d: verb %d", size, b.Len(), reads, a.verb)
			}
			c.close()
		}
	}
	if waits == 0 {
		t.Error("never identified before it was complete")
	}
}

// What is kept of the start of a file is as long as a fingerprint, however the file grew.
func TestHeadIsLimited(t *testing.T) {
	t.Parallel()
	text := bytes.Repeat([]byte("x"), 3*maxFingerprint)
	path := filepath.Join(t.TempDir(), "a.log")
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	opened, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	r := &section{f: &file{handle: handle{opened: opened}}}
	for _, n := range []int{100, 2 * maxFingerprint} {
		if _, err := io.ReadFull(r, make([]byte, n)); err != nil {
			t.Fatal(err)
		}
	}
	if want := fingerprintOf(text[:maxFingerprint]); len(r.f.head) != maxFingerprint || r.f.print != want {
		t.Errorf("%d bytes are kept with fingerprint %v, want %v", len(r.f.head), r.f.print, want)
	}
}
