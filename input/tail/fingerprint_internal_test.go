package tail

import (
	"bytes"
	"compress/gzip"
	"testing"
)

// Of the files that a fingerprint may be of, the one with the most common bytes is taken.
func TestShortFingerprints(t *testing.T) {
	t.Parallel()
	const (
		text    = "00000001 the first line\n"
		grown   = text + "00000002 the second line\n"
		rotated = logPath + ".20261121-000001"
	)
	partly := func(p position, n int) position { // read up to n bytes of text
		p.path, p.print, p.head = logPath, fingerprintOf([]byte(grown[:n])), grown[:n]
		return p
	}
	gone := func(inode uint64, n int) position { return partly(position{id: fileID{1, inode}}, n) }
	for _, test := range []struct {
		name string
		// content is that of the file, live that of the log, which is being read.
		content, live string
		compress      bool
		// lost are positions of files that do not exist, own is that of the file's inode.
		lost []position
		own  *position
		copy discovery
		want verb
		from uint64
	}{
		{name: "the only copy", content: text, lost: []position{gone(8, 1)}, copy: discovery{copyOnly: true}, want: resumeCopy, from: 8},
		{name: "a copy of a file that is being read", content: text, live: grown, lost: []position{gone(8, 1)}, copy: discovery{copyOnly: true}},
		{name: "the same, compressed", content: text, live: text, compress: true, lost: []position{gone(8, 1)}, copy: discovery{copyOnly: true}},
		{name: "the same, not only copies", content: text, live: text, compress: true, lost: []position{gone(8, 1)}, want: markCopy},
		{name: "as many common bytes", content: text, live: text, lost: []position{gone(8, len(text))}, copy: discovery{copyOnly: true}, want: resumeCopy, from: 8},
		{name: "several lost files", content: grown, lost: []position{gone(7, 1), gone(8, len(text)), gone(9, 2)}, want: resumeCopy, from: 8},
		{
			name: "a copy that is known", content: text, lost: []position{gone(8, 1)}, copy: discovery{copyOnly: true},
			own: &position{kind: copied, offset: int64(len(text)), print: fingerprintOf([]byte(text))},
		},
		{
			name: "a copy that is known, of that file", content: text, lost: []position{gone(8, len(grown))}, copy: discovery{copyOnly: true},
			own: &position{kind: copied, offset: int64(len(text)), print: fingerprintOf([]byte(text))}, want: resumeCopy, from: 8,
		},
		{name: "its inode is that of a partial line", content: text, own: &position{print: fingerprintOf([]byte(text[:1]))}, want: resume, from: 2},
		{
			name: "a copy with the inode of a partial line", content: text, live: grown,
			own: &position{print: fingerprintOf([]byte(text[:1]))}, want: replaced, from: 2,
		},
		{
			name: "the same, not yet all are known", content: text, live: grown, copy: discovery{knownOnly: true},
			own: &position{print: fingerprintOf([]byte(text[:1]))}, want: wait,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := newDisk()
			m := &modelReader{t: t, disk: d, pattern: logPath, known: newCatalog(), files: make(map[fileID]*modelFile)}
			d.create(logPath, []byte(test.live))
			m.observe(d.entry(logPath), candidate{})
			for _, p := range test.lost {
				m.known.add(p)
			}
			path, content := rotated, []byte(test.content)
			if test.compress {
				var b bytes.Buffer
				z := gzip.NewWriter(&b)
				_, _ = z.Write(content)
				_ = z.Close()
				path, content = rotated+compressedSuffix, b.Bytes()
			}
			d.create(path, content)
			r, e, err := d.open(path)
			if err != nil {
				t.Fatal(err)
			}
			if test.own != nil {
				p := *test.own
				p.id, p.path = e.id, logPath
				m.known.add(p)
			}
			a := m.view().identify(&candidate{entry: e, content: r, resolved: path, unmatched: true, discovery: test.copy})
			if a.verb != test.want || a.from.id.inode != test.from {
				t.Errorf("verb %d from inode %d, want verb %d from inode %d", a.verb, a.from.id.inode, test.want, test.from)
			}
		})
	}
}
