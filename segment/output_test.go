package segment_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"logstow/blobnaming"
	"logstow/internal/test/testrand"
	"logstow/record"
	"logstow/segment"
)

// part is a plain segment that becomes an input.
type part struct {
	origin segment.Origin
	lines  []record.Line
}

// newPart makes a plain segment and the origin that it becomes.
func newPart(tb testing.TB, opts segment.Options, number uint64, seq int64, records ...record.Record) part {
	tb.Helper()
	var b bytes.Buffer
	w := segment.NewWriter(&b, opts)
	for _, r := range records {
		if err := w.Append(r); err != nil {
			tb.Fatal(err)
		}
	}
	m, err := w.Close(seq)
	if err != nil {
		tb.Fatal(err)
	}
	p := part{origin: segment.Origin{
		Bucket: opts.BucketStart, Number: number, Batch: m.Batch, Start: m.Start, End: m.End, Records: m.Records,
		Size: int64(b.Len()), Instance: m.Instance, Seq: m.Seq, Levels: m.Levels,
	}}
	for _, text := range blockTexts(tb, b.Bytes()) {
		for len(text) > 0 {
			line, rest, err := record.Next(text)
			if err != nil {
				tb.Fatal(err)
			}
			p.lines = append(p.lines, line)
			p.origin.Sum.Add(line.Text)
			text = rest
		}
	}
	return p
}

// ownLine is a line of an output and the index of its input.
type ownLine struct {
	record.Line
	input int
}

// merge is the output order of the records of parts, which it sorts, in the plain way.
func merge(parts []part) (inputs []segment.Origin, lines []ownLine) {
	slices.SortFunc(parts, func(a, b part) int { return segment.CompareOrigins(a.origin, b.origin) })
	for i, p := range parts {
		inputs = append(inputs, p.origin)
		for _, line := range p.lines {
			lines = append(lines, ownLine{line, i})
		}
	}
	slices.SortStableFunc(lines, func(a, b ownLine) int {
		return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.input, b.input))
	})
	return inputs, lines
}

// outputOptions are those of an output.
func outputOptions(inputs []segment.Origin) segment.Options {
	opts := options()
	opts.Instance, opts.Inputs, opts.BlockSize = blobnaming.OutputInstance, inputs, 400
	opts.Salt, opts.BucketStart, opts.BucketWidth = [16]byte{}, hour-15*3600, 24*3600
	return opts
}

// writeOutput makes an output of parts.
func writeOutput(tb testing.TB, parts []part, change func(*segment.Options)) ([]byte, blobnaming.Metadata, []ownLine) {
	tb.Helper()
	inputs, lines := merge(parts)
	opts := outputOptions(inputs)
	if change != nil {
		change(&opts)
	}
	var b bytes.Buffer
	w := segment.NewWriter(&b, opts)
	for i, line := range lines {
		if err := w.AppendLine(line.Line, line.input); err != nil {
			tb.Fatalf("record %d: %v", i, err)
		}
	}
	seq := int64(0)
	for _, o := range inputs {
		seq = max(seq, o.Seq)
	}
	m, err := w.Close(seq)
	if err != nil {
		tb.Fatal(err)
	}
	return b.Bytes(), m, lines
}

// randomParts are inputs as odd as they come: of several instances, some with equal
// Seq, with equal times across, of buckets of several widths.
func randomParts(tb testing.TB, seed []int) []part {
	tb.Helper()
	rnd := testrand.New(tb)
	var parts []part
	for i := range seed {
		opts := options()
		opts.Instance = fmt.Sprintf("pod-%d", rnd.IntN(4))
		opts.Salt = [16]byte{0: byte(i), 1: byte(i >> 8), 15: 1}
		opts.BlockSize = 200
		parts = append(parts, newPart(tb, opts, uint64(i+1), rnd.Int64N(3), randomRecords(rnd, 1+rnd.IntN(seed[i]))...))
	}
	return parts
}

func TestOutput(t *testing.T) {
	t.Parallel()
	for name, sizes := range map[string][]int{
		"one": {40}, "two": {20, 20}, "many": slices.Repeat([]int{9}, 300), "mixed": {500, 1, 1, 1, 60, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parts := randomParts(t, sizes)
			blob, m, lines := writeOutput(t, parts, nil)
			if !m.IsOutput() || m.Records != uint64(len(lines)) {
				t.Errorf("%+v of %d records", m, len(lines))
			}
			f, err := verify(t, blob)
			if err != nil {
				t.Fatal(err)
			}
			if err := f.Check(m); err != nil {
				t.Error(err)
			}
			footer, origins, err := segment.ReadOrigins(t.Context(), ranges(blob), int64(len(blob)), m.Origins)
			if err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(f, footer); diff != "" {
				t.Errorf("footer read with the list: %s", diff)
			}
			var want []segment.Origin
			for _, p := range parts { // sorted by writeOutput
				want = append(want, p.origin)
			}
			if diff := gocmp.Diff(want, origins.Inputs); diff != "" {
				t.Errorf("inputs: %s", diff)
			}
			checkRecords(t, blob, f, origins, lines)
		})
	}
}

// checkRecords compares an output's records, and the inputs that its pages name.
func checkRecords(t *testing.T, blob []byte, f *segment.Footer, origins *segment.Origins, want []ownLine) {
	t.Helper()
	before := make([]uint64, len(origins.Inputs))
	for i, text := range blockTexts(t, blob) {
		p := origins.Pages[i]
		page, err := origins.DecodePage(blob[p.Offset:p.Offset+p.Length], f.Blocks[i])
		if err != nil {
			t.Fatal(err)
		}
		for j, input := range page.Parts {
			if page.Before[j] != before[input] {
				t.Errorf("block %d: %d records of input %d before it, want %d", i, page.Before[j], input, before[input])
			}
		}
		for n := 0; len(text) > 0; n++ {
			line, rest, err := record.Next(text)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(line.Text, want[0].Text) || page.Part(n) != want[0].input {
				t.Fatalf("block %d, record %d: %q of input %d, want %q of %d", i, n, line.Text, page.Part(n), want[0].Text, want[0].input)
			}
			before[page.Part(n)]++
			text, want = rest, want[1:]
		}
	}
	if len(want) > 0 {
		t.Errorf("%d records are missing", len(want))
	}
}

func TestAppendLineRefuses(t *testing.T) {
	t.Parallel()
	inputs, lines := merge([]part{
		newPart(t, options(), 1, 1, rec(time.Second, record.Info, "a", "one"), rec(2*time.Second, record.Info, "a", "two")),
		newPart(t, options(), 2, 2, rec(time.Second, record.Info, "a", "three")),
	})
	var b bytes.Buffer
	w := segment.NewWriter(&b, outputOptions(inputs))
	defer w.Discard()
	outside := lines[0].Line
	outside.Time += int64(24 * time.Hour)
	if err := w.AppendLine(lines[1].Line, 1); err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"no such input":       w.AppendLine(lines[2].Line, 2),
		"negative input":      w.AppendLine(lines[2].Line, -1),
		"outside the bucket":  w.AppendLine(outside, 0),
		"input out of order":  w.AppendLine(lines[0].Line, 0),
		"a record":            w.Append(rec(3*time.Second, record.Info, "a", "x")),
		"a line of no output": segment.NewWriter(&b, options()).AppendLine(lines[0].Line, 0),
	} {
		if !errors.Is(err, segment.ErrRecord) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := w.AppendLine(lines[2].Line, 0); err != nil {
		t.Fatal(err)
	}
	before := lines[1].Line
	if err := w.AppendLine(before, 1); !errors.Is(err, segment.ErrRecord) {
		t.Errorf("time out of order: %v", err)
	}
}

// A stored block is appended as it is, except where blocks would become too small; a wrong one spoils the segment.
func TestAppendStored(t *testing.T) {
	t.Parallel()
	var records []record.Record
	for i := range 40 {
		records = append(records, rec(time.Duration(i)*time.Second, record.Info, "a", fmt.Sprintf("message %d %080d", i, i)))
	}
	inputs, lines := merge([]part{newPart(t, options(), 1, 1, records...)})
	text := func(from, to int) (all []byte) {
		for _, line := range lines[from:to] {
			all = append(all, line.Text...)
		}
		return all
	}
	opts := outputOptions(inputs)
	opts.BlockSize = len(text(0, 4))
	var b bytes.Buffer
	w := segment.NewWriter(&b, opts)
	appendStored := func(from, to int, want bool) (stored []byte) {
		t.Helper()
		stored = segment.NewCompressor().Encode(nil, text(from, to))
		if ok, err := w.AppendStored(text(from, to), stored, 0); err != nil || ok != want {
			t.Fatalf("records %d to %d: %v, error %v", from, to, ok, err)
		}
		return stored
	}
	appendStored(0, 2, false)
	var want [][]byte
	for i := range 5 {
		want = append(want, slices.Clone(appendStored(4*i, 4*i+4, true)))
	}
	for _, line := range lines[20:21] {
		if err := w.AppendLine(line.Line, 0); err != nil {
			t.Fatal(err)
		}
	}
	want = append(want, slices.Clone(appendStored(21, 27, true))) // after one short block
	if err := w.AppendLine(lines[27].Line, 0); err != nil {
		t.Fatal(err)
	}
	appendStored(28, 32, false) // the second short block is too many
	for _, line := range lines[28:] {
		if err := w.AppendLine(line.Line, 0); err != nil {
			t.Fatal(err)
		}
	}
	m, err := w.Close(1)
	if err != nil {
		t.Fatal(err)
	}
	f, err := verify(t, b.Bytes())
	if err != nil || f.Check(m) != nil || int(m.Records) != len(lines) {
		t.Fatalf("%+v, error %v", m, err)
	}
	for i, stored := range want {
		if !bytes.Contains(b.Bytes(), stored) {
			t.Errorf("block %d is not as it was", i)
		}
	}
	w = segment.NewWriter(&b, opts)
	defer w.Discard()
	appendStored(4, 8, true)
	if _, err := w.AppendStored(text(0, 4), nil, 0); !errors.Is(err, segment.ErrRecord) {
		t.Errorf("a block out of order: %v", err)
	}
	if err := w.AppendLine(lines[9].Line, 0); !errors.Is(err, segment.ErrRecord) {
		t.Errorf("after it: %v", err)
	}
}

// What is written is held to the list: a sum, a count, an order or a time that is not
// right ends in an error, of the Writer where it can detect it and of Verify otherwise.
func TestWrongOriginsAreFound(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(o []segment.Origin){
		"sum":             func(o []segment.Origin) { o[1].Sum.Lo++ },
		"high half":       func(o []segment.Origin) { o[1].Sum.Hi++ },
		"sums swapped":    func(o []segment.Origin) { o[0].Sum, o[1].Sum = o[1].Sum, o[0].Sum },
		"records":         func(o []segment.Origin) { o[0].Records++ },
		"levels":          func(o []segment.Origin) { o[0].Levels[record.Warn]++ },
		"moved levels":    func(o []segment.Origin) { o[0].Levels, o[1].Levels = o[1].Levels, o[0].Levels },
		"start":           func(o []segment.Origin) { o[0].Start-- },
		"inner start":     func(o []segment.Origin) { o[1].Start-- },
		"end":             func(o []segment.Origin) { o[0].End++ },
		"order":           func(o []segment.Origin) { o[0], o[1] = o[1], o[0] },
		"twice":           func(o []segment.Origin) { o[1] = o[0] },
		"seq":             func(o []segment.Origin) { o[1].Seq++ },
		"another day":     func(o []segment.Origin) { o[1].Bucket += 24 * 3600 },
		"between minutes": func(o []segment.Origin) { o[1].Bucket++ },
		"size":            func(o []segment.Origin) { o[1].Size = 0 },
		"number":          func(o []segment.Origin) { o[1].Number = 0 },
		"instance":        func(o []segment.Origin) { o[0].Instance = "" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inputs, lines := merge([]part{
				newPart(t, options(), 1, 1, rec(time.Second, record.Info, "a", "one"), rec(3*time.Second, record.Error, "a", "two")),
				newPart(t, options(), 2, 2, rec(2*time.Second, record.Info, "a", "three"), rec(2500*time.Millisecond, record.Warn, "a", "4")),
			})
			var b bytes.Buffer
			w := segment.NewWriter(&b, outputOptions(inputs))
			for _, line := range lines {
				if err := w.AppendLine(line.Line, line.input); err != nil {
					t.Fatal(err)
				}
			}
			spoil(inputs)
			if _, err := w.Close(2); err != nil {
				return
			}
			_, err := verify(t, b.Bytes())
			var corrupt *segment.CorruptError
			if !errors.As(err, &corrupt) || corrupt.Part != "section origins" {
				t.Errorf("error %v", err)
			}
		})
	}
}

// A record that is in another place, or of another input of its time, is found.
func TestWrongPagesAreFound(t *testing.T) {
	t.Parallel()
	inputs, lines := merge([]part{
		newPart(t, options(), 1, 1, rec(time.Second, record.Info, "a", "one")),
		newPart(t, options(), 2, 2, rec(time.Second, record.Info, "a", "two")),
	})
	var b bytes.Buffer
	w := segment.NewWriter(&b, outputOptions(inputs))
	for i, line := range []int{1, 0} { // each is listed as of the other
		if err := w.AppendLine(lines[line].Line, i); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Close(2); err != nil {
		t.Fatal(err)
	}
	_, err := verify(t, b.Bytes())
	if corrupt := (*segment.CorruptError)(nil); !errors.As(err, &corrupt) || corrupt.Part != "section origins" {
		t.Errorf("error %v", err)
	}
}

func TestSumIgnoresOrderOnly(t *testing.T) {
	t.Parallel()
	var a, b, c segment.Sum
	for _, text := range []string{"one\n", "two\n", "one\n"} {
		a.Add([]byte(text))
	}
	for _, text := range []string{"two\n", "one\n", "one\n"} {
		b.Add([]byte(text))
	}
	for _, text := range []string{"two\n", "one\n"} {
		c.Add([]byte(text))
	}
	if a != b || a == c || a == (segment.Sum{}) {
		t.Errorf("%v %v %v", a, b, c)
	}
}

// A reader of version 1 refuses the footer of an output: it would count records twice.
func TestOutputRequiresOrigins(t *testing.T) {
	t.Parallel()
	blob, m, _ := writeOutput(t, randomParts(t, []int{5, 5}), nil)
	body := blob[m.Footer+segment.FrameHeader : len(blob)-segment.TrailerSize]
	unknown := bytes.ReplaceAll(body, []byte("Origins"), []byte("Oranges")) // in order still
	if _, err := segment.DecodeFooter(unknown, m.Footer); !errors.Is(err, segment.ErrUnsupported) {
		t.Errorf("error %v", err)
	}
}
