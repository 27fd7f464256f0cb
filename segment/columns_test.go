package segment_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"logstow/columns"
	"logstow/field"
	"logstow/internal/test/testrand"
	"logstow/message"
	fieldparse "logstow/message/parse"
	"logstow/record"
	"logstow/segment"
)

// columned are options of segments with columns of these fields, in blocks of a size.
func columned(blockSize int, named ...string) segment.Options {
	opts := options()
	opts.BlockSize, opts.Columns = blockSize, &columns.Options{Named: named}
	return opts
}

// access are records of requests; request is the message of one.
func access(n int, request func(i int) string) []record.Record {
	records := make([]record.Record, n)
	for i := range records {
		records[i] = rec(time.Duration(i)*50*time.Millisecond, record.Level(i%record.Levels), fmt.Sprintf("app-%d.log", i%3), request(i))
	}
	return records
}

// noise are 64 random hexadecimal digits: a message with it is stored in 32 bytes at least.
func noise(rnd *rand.Rand) string { return fmt.Sprintf("%x", entropy(rnd)) }

// pageOf is the page of a column in a block; nil if there is none.
func pageOf(t *testing.T, blob []byte, c *segment.Column, b segment.Block) *columns.Page {
	t.Helper()
	p := c.Pages[b.Index]
	if p.Length == 0 {
		return nil
	}
	stored := blob[p.Offset : p.Offset+p.Length]
	if err := p.Check(stored); err != nil {
		t.Fatal(err)
	}
	page, err := columns.DecodePage(stored, int(b.Records))
	if err != nil {
		t.Fatalf("block %d, column %s: %v", b.Index, c.Name, err)
	}
	return page
}

// readColumns verifies a segment and reads its directory.
func readColumns(t *testing.T, blob []byte) (*segment.Footer, *segment.Columns) {
	t.Helper()
	f, err := verify(t, blob)
	if err != nil {
		t.Fatal(err)
	}
	list, err := segment.ReadColumns(t.Context(), ranges(blob), f)
	if err != nil {
		t.Fatal(err)
	}
	return f, list
}

// Columns of random segments have the values of the text, also of fields that come late, go, or change their types.
func TestColumns(t *testing.T) {
	t.Parallel()
	rnd := testrand.New(t)
	kinds := []string{"%d", "%d.5", `"%d"`, "null", "true", `{"x":%d}`, "1e%d"}
	checked := 0
	for round := range 20 {
		n := 1 + rnd.IntN(1500)
		records := access(n, func(i int) string {
			var b strings.Builder
			fmt.Fprintf(&b, `{"id":"%s","took":%d`, noise(rnd), rnd.IntN(10_000))
			if i < n/3 {
				fmt.Fprintf(&b, `,"early":%d`, i%5)
			} else {
				fmt.Fprintf(&b, `,"late":%d`, i%5)
			}
			kind := kinds[min(len(kinds)-1, i*len(kinds)/n+rnd.IntN(50)/49)]
			if strings.Contains(kind, "%") {
				kind = fmt.Sprintf(kind, rnd.IntN(9))
			}
			fmt.Fprintf(&b, `,"mixed":%s}`, kind)
			return b.String()[:b.Len()-rnd.IntN(40)/39] // some are cut
		})
		opts := columned(4<<10+rnd.IntN(64<<10), "took", "late")
		opts.NoFilter = round%2 == 0
		if round%5 == 4 {
			records = slices.Concat(records, randomRecords(rnd, 500))
		}
		blob, m := write(t, opts, records...)
		f, list := readColumns(t, blob)
		if err := f.Check(m); err != nil {
			t.Fatal(err)
		}
		if list != nil {
			checkColumns(t, blob, f, list)
			checked += len(list.Columns)
		}
		if n < 500 || opts.BlockSize < 32<<10 {
			continue // too small for some columns
		}
		for _, name := range []columns.Name{{Fixed: field.Time}, {Fixed: field.Level}, {Field: "took"}, {Field: "late"}} {
			if list.Find(name) == nil {
				t.Errorf("%d records: no column %s", n, name)
			}
		}
	}
	if checked < 20 {
		t.Errorf("only %d columns were compared", checked)
	}
}

// checkColumns compares all columns of fields with the text, independently of Verify.
func checkColumns(t *testing.T, blob []byte, f *segment.Footer, list *segment.Columns) {
	t.Helper()
	texts := blockTexts(t, blob)
	for i := range list.Columns {
		c := &list.Columns[i]
		if c.Name.Fixed != "" {
			continue
		}
		splitter := fieldparse.Auto().Splitter(c.Name.Field)
		for _, b := range f.Blocks {
			page := pageOf(t, blob, c, b)
			if page == nil {
				continue
			}
			for n, r := range parse(t, texts[b.Index]) {
				splitter.Split(nil, r.Message)
				want := splitter.Value(0)
				if got, _ := page.Value(n, nil); got.Kind != want.Kind || !bytes.Equal(got.Text, want.Text) {
					t.Fatalf("record %d of block %d, column %s: %v, want %v", n, b.Index, c.Name, got, want)
				}
			}
		}
	}
}

// A segment of no more text than the limit of Options has no columns.
func TestColumnsOfSmallSegments(t *testing.T) {
	t.Parallel()
	rnd := testrand.New(t)
	records := access(1000, func(int) string { return noise(rnd) })
	text := int64(0)
	for _, r := range records {
		text += int64(len(record.AppendText(nil, r)))
	}
	for _, c := range []struct {
		least int64
		want  bool
	}{{0, true}, {text, true}, {text + 1, false}} {
		opts := columned(1 << 20)
		opts.Columns.MinText = c.least
		blob, _ := write(t, opts, records...)
		if _, list := readColumns(t, blob); (list != nil) != c.want {
			t.Errorf("%d bytes of text, at least %d: columns %v", text, c.least, list)
		}
	}
}

// Close drops the columns of a segment with little text while a block is being compressed: the race detector finds
// unsynchronized access.
func TestColumnsDroppedWhileCompressing(t *testing.T) {
	t.Parallel()
	opts := columned(1 << 10)
	opts.Columns.MinText = 1 << 20
	blob, _ := write(t, opts, access(500, func(int) string { return "" })...)
	f, list := readColumns(t, blob)
	if list != nil || len(f.Blocks) < 2 {
		t.Errorf("columns %v in %d blocks, want none in several", list, len(f.Blocks))
	}
}

// A segment whose columns would be larger than their share has none.
func TestNoRoomForColumns(t *testing.T) {
	t.Parallel()
	blob, _ := write(t, columned(1<<20, "a"), rec(0, record.Info, "a", `{"a":1}`))
	if f, list := readColumns(t, blob); list != nil || len(f.Sections) != 1 {
		t.Errorf("columns %v, sections %v", list, f.Sections)
	}
}

func TestEveryBitFlipOfColumnsIsFound(t *testing.T) {
	t.Parallel()
	blob := readFile(t, goldenDir+"/columns.log")
	f, list := readColumns(t, blob)
	s := f.Sections[0]
	found := 0
	for bit := s.Offset * 8; bit < (s.Offset+s.Length)*8; bit++ {
		damaged := slices.Clone(blob)
		damaged[bit/8] ^= 1 << (bit % 8)
		for name, check := range map[string]func() error{
			"verify": func() error { _, err := verify(t, damaged); return err },
			"verify stored": func() error {
				_, err := segment.VerifyStored(t.Context(), ranges(damaged), int64(len(blob)))
				return err
			},
		} {
			var corrupt *segment.CorruptError
			if err := check(); !errors.As(err, &corrupt) || corrupt.Part != "section columns" {
				t.Fatalf("%s, bit %d: error is %v", name, bit, err)
			}
		}
		if _, err := segment.ReadColumns(t.Context(), ranges(damaged), f); bit/8 >= f.Columns {
			if !errors.As(err, new(*segment.CorruptError)) {
				t.Fatalf("bit %d of the directory: error is %v", bit, err)
			}
			found++
		} else if err != nil {
			t.Fatalf("bit %d is not of the directory, which is reported: %v", bit, err)
		}
		for _, c := range list.Columns {
			for _, p := range c.Pages {
				err := p.Check(damaged[p.Offset : p.Offset+p.Length])
				if own := p.Offset <= bit/8 && bit/8 < p.Offset+p.Length; own != (err != nil) {
					t.Fatalf("bit %d, page of %s at %d: error is %v", bit, c.Name, p.Offset, err)
				} else if own {
					found++
				}
			}
		}
	}
	if want := int(s.Length-segment.FrameHeader) * 8; found != want {
		t.Errorf("%d flips were found by reading parts, %d are of parts", found, want)
	}
	for _, p := range list.Columns[0].Pages {
		if err := p.Check(blob[p.Offset : p.Offset+p.Length-1]); !errors.As(err, new(*segment.CorruptError)) {
			t.Errorf("a page that is too short: error is %v", err)
		}
	}
}

// Verify finds a column that has another value than the text, whose checksums are right.
func TestWrongColumnsAreFound(t *testing.T) {
	t.Parallel()
	rnd := testrand.New(t)
	hex := make([]string, 400)
	for i := range hex {
		hex[i] = noise(rnd)
	}
	records := func(change func(r *record.Record)) []record.Record {
		all := access(len(hex), func(i int) string { return fmt.Sprintf(`{"id":"%s","status":%d,"took":%d}`, hex[i], 200+i%3, i*7) })
		change(&all[219]) // the last of its second
		return all
	}
	opts := columned(1<<20, "took")
	right := records(func(*record.Record) {})
	blob, _ := write(t, opts, right...)
	f, _ := readColumns(t, blob)
	of := func(records []record.Record) ([]columns.Column, []message.Form) {
		b := columns.NewBuilder("", *opts.Columns)
		var text []byte
		for _, r := range records {
			text = record.AppendText(text, r)
		}
		b.AddBlock(new(columns.Scratch), text, len(records), records[0].Time, 1<<20)
		return b.Columns(), b.Forms()
	}
	for name, c := range map[string]struct {
		change func(r *record.Record)
		want   string // "" if nothing is wrong
	}{
		"nothing":     {func(*record.Record) {}, ""},
		"number":      {func(r *record.Record) { r.Message = bytes.Replace(r.Message, []byte(`:1533`), []byte(`:1534`), 1) }, "column took"},
		"written":     {func(r *record.Record) { r.Message = bytes.Replace(r.Message, []byte(`:1533`), []byte(`:1533.0`), 1) }, "column took"},
		"kind":        {func(r *record.Record) { r.Message = bytes.Replace(r.Message, []byte(`:200`), []byte(`:"200"`), 1) }, "column status"},
		"missing":     {func(r *record.Record) { r.Message = bytes.Replace(r.Message, []byte("status"), []byte(`sttaus`), 1) }, "column status"},
		"level":       {func(r *record.Record) { r.Level = record.None }, "column level"},
		"source":      {func(r *record.Record) { r.Source = "x" }, "column source"},
		"second":      {func(r *record.Record) { r.Time += int64(50 * time.Millisecond) }, "not of the second"},
		"nanoseconds": {func(r *record.Record) { r.Time++ }, ""},
	} {
		all, members := of(records(c.change))
		wrong, err := segment.ReplaceColumns(blob, f, all, members)
		if err != nil {
			t.Fatal(err)
		}
		_, err = verify(t, wrong)
		var corrupt *segment.CorruptError
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.want != "" && (!errors.As(err, &corrupt) || corrupt.Part != "section columns" || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: error is %v, want %q", name, err, c.want)
		}
		if _, err := segment.VerifyStored(t.Context(), ranges(wrong), int64(len(wrong))); err != nil {
			t.Errorf("%s: what is stored is sound: %v", name, err)
		}
	}
}

// Verify finds bounds that are not those of a page.
func TestWrongBoundsAreFound(t *testing.T) {
	t.Parallel()
	blob := readFile(t, goldenDir+"/columns.log")
	f, list := readColumns(t, blob)
	for name, c := range map[string]struct {
		change func(all []columns.Column)
		wrong  bool
	}{
		"none":              {func([]columns.Column) {}, false},
		"written otherwise": {func(all []columns.Column) { all[3].Least[0] = "27.90" }, false},
		"least is less":     {func(all []columns.Column) { all[3].Least[0] = "27.8" }, true},
		"least is more":     {func(all []columns.Column) { all[3].Least[0] = "28" }, true},
		"greatest is less":  {func(all []columns.Column) { all[3].Greatest[1] = "469.8" }, true},
		"least is missing":  {func(all []columns.Column) { all[3].Least[0] = "" }, true},
		"no number":         {func(all []columns.Column) { all[3].Greatest[0] = "x" }, true},
		"of texts":          {func(all []columns.Column) { all[2].Least[0] = "1" }, true},
		"of times":          {func(all []columns.Column) { all[0].Greatest[1] = "1" }, true},
	} {
		all := make([]columns.Column, len(list.Columns))
		for i, column := range list.Columns {
			all[i].Name = column.Name
			for _, p := range column.Pages {
				all[i].Pages = append(all[i].Pages, blob[p.Offset:p.Offset+p.Length])
				all[i].Least, all[i].Greatest = append(all[i].Least, p.Least), append(all[i].Greatest, p.Greatest)
			}
		}
		c.change(all)
		changed, err := segment.ReplaceColumns(blob, f, all, list.Forms)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := verify(t, changed); (err != nil) != c.wrong || err != nil && !errors.As(err, new(*segment.CorruptError)) {
			t.Errorf("%s: error is %v", name, err)
		}
	}
}

// Columns of a parser of a version that is unknown are not compared with the text, except for fixed ones.
func TestColumnsOfAnotherVersion(t *testing.T) {
	t.Parallel()
	rnd := testrand.New(t)
	opts := columned(1 << 20)
	records := access(500, func(i int) string { return fmt.Sprintf(`{"id":"%s","status":%d}`, noise(rnd), i%5) })
	known, _ := write(t, opts, records...)
	f, list := readColumns(t, known)
	if list.Find(columns.Name{Field: "status"}) == nil {
		t.Fatal("no column of a field")
	}
	f.Parse = "auto/9"
	again, err := segment.AppendFooter(slices.Clone(known[:f.Footer]), f)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := verify(t, again); err != nil {
		t.Error(err)
	}
	opts.Parse = "auto/9"
	unknown, _ := write(t, opts, records...)
	if _, list := readColumns(t, unknown); len(list.Columns) != 3 {
		t.Errorf("columns %v", list.Columns)
	}
}

// The estimate counts what columns will take.
func TestSizeCountsColumns(t *testing.T) {
	t.Parallel()
	rnd := testrand.New(t)
	named := []string{"a", "b", "c"}
	opts := columned(64<<10, named...)
	opts.NoFilter = true
	var b bytes.Buffer
	w := segment.NewWriter(&b, opts)
	for _, r := range access(15_000, func(i int) string {
		return fmt.Sprintf(`{"id":"%s","status":%d,"a":%d,"b":%d,"c":%d}`, noise(rnd), i%5, rnd.IntN(1e4), rnd.IntN(1e4), rnd.IntN(1e4))
	}) {
		if err := w.Append(r); err != nil {
			t.Fatal(err)
		}
	}
	size, bound := w.Size(), w.Bound()
	if _, err := w.Close(1); err != nil {
		t.Fatal(err)
	}
	n := int64(b.Len())
	if size < n*95/100 || size > n*105/100 || bound < n {
		t.Errorf("%d bytes estimated, at most %d, %d written", size, bound, n)
	}
	f, list := readColumns(t, b.Bytes())
	taken := int64(0)
	for i := range list.Columns {
		for _, p := range list.Columns[i].Pages {
			taken += p.Length
		}
	}
	if taken < n/12 || taken > f.Sections[0].Offset*15/100 {
		t.Errorf("columns take %d of %d bytes", taken, n)
	}
	for _, name := range named {
		if list.Find(columns.Name{Field: name}) == nil {
			t.Errorf("no column %s", name)
		}
	}
}

// FuzzDirectory reads any bytes as the directory of a segment: never a panic, and the pages of what is accepted are in
// the section, one behind the other.
func FuzzDirectory(f *testing.F) {
	blob := readFile(f, goldenDir+"/columns.log")
	footer, err := verify(f, blob)
	if err != nil {
		f.Fatal(err)
	}
	directory := blob[footer.Columns : footer.Columns+footer.ColumnsLength]
	f.Add(directory)
	f.Add([]byte{0x80})
	f.Fuzz(func(t *testing.T, directory []byte) {
		changed := *footer
		changed.ColumnsHash = segment.HashOf(directory)
		list, err := changed.ParseColumns(directory)
		if err != nil {
			if !errors.As(err, new(*segment.CorruptError)) {
				t.Fatalf("error is %v", err)
			}
			return
		}
		at := footer.Sections[0].Offset + segment.FrameHeader
		for i, c := range list.Columns {
			if list.Find(c.Name) != &list.Columns[i] || len(c.Pages) != len(footer.Blocks) {
				t.Fatalf("column %d, %s, is not found, or has %d pages", i, c.Name, len(c.Pages))
			}
			for _, p := range c.Pages {
				if p.Offset != at || p.Length < 0 {
					t.Fatalf("a page of %s at %d, %d expected", c.Name, p.Offset, at)
				}
				at += p.Length
			}
		}
		if at != footer.Columns {
			t.Fatalf("the pages end at %d", at)
		}
	})
}
