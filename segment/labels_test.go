package segment_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"logstow/columns"
	"logstow/internal/test/testrand"
	"logstow/record"
	"logstow/segment"
)

// with is a record with attributes.
func with(r record.Record, attributes string) record.Record {
	r.Attributes = []byte(attributes)
	return r
}

// escaped is the size of a message as text.
func escaped(message []byte) uint64 { return uint64(len(message) + bytes.Count(message, []byte("\n"))) }

// A footer counts the records of each combination of label attributes, however they were appended.
func TestLabels(t *testing.T) {
	t.Parallel()
	rnd := testrand.New(t)
	forms := map[string]string{
		"": "",
		`{"trace_id":"5b8efff7","x":{"resource":{"k8s.pod.name":"no"}}}`:                                    "",
		`{"resource":{"k8s.pod.name":"a","k8s.pod.uid":"u"},"trace_id":"1"}`:                                `{"k8s.pod.name":"a"}`,
		`{"resource":{"k8s.namespace.name":"n","k8s.pod.name":"a"},"stream":{"k8s.pod.name":"b"}}`:          `{"k8s.namespace.name":"n","k8s.pod.name":"b"}`,
		`{"stream":{"big":"` + strings.Repeat("x", 2000) + `","job":"\"q\"","list":["a"],"n":7,"on":true}}`: `{"job":"\"q\"","n":"7","on":"true"}`,
	}
	keys := []string{}
	for text := range forms {
		keys = append(keys, text)
	}
	slices.Sort(keys)
	opts := options()
	opts.BlockSize = 4 << 10
	var b bytes.Buffer
	w := segment.NewWriter(&b, opts)
	want := map[string]segment.Labels{}
	records := make([]record.Record, 500)
	for i := range records {
		text := keys[rnd.IntN(len(keys))]
		r := with(rec(time.Duration(rnd.IntN(int(14*time.Minute))), record.Level(rnd.IntN(record.Levels)), "app", "m\n"+strings.Repeat("x", rnd.IntN(50))), text)
		records[i] = r
		l, known := want[forms[text]]
		if !known {
			l = segment.Labels{Text: forms[text], Instance: opts.Instance, Start: r.Time, End: r.Time}
		}
		l.Start, l.End = min(l.Start, r.Time), max(l.End, r.Time)
		l.Levels[r.Level]++
		l.Bytes += escaped(r.Message)
		want[l.Text] = l
	}
	for chunk := range slices.Chunk(records, 100) {
		if rnd.IntN(2) == 0 {
			if err := w.AppendBlock(segment.NewCompressor().EncodeBlock(slices.Clone(chunk), false)); err != nil {
				t.Fatal(err)
			}
			continue
		}
		for _, r := range chunk {
			if err := w.Append(r); err != nil {
				t.Fatal(err)
			}
		}
	}
	m, err := w.Close(1)
	if err != nil {
		t.Fatal(err)
	}
	f, err := verify(t, b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]segment.Labels{}
	for _, l := range f.Labels {
		got[l.Text] = l
	}
	if diff := gocmp.Diff(want, got); diff != "" || m.Labels != uint32(len(want)) || f.Unlisted != nil {
		t.Errorf("%d in the metadata, %q not listed (-want +got)\n%s", m.Labels, f.Unlisted, diff)
	}
}

// Names with many values are not listed; the others stay.
func TestManyLabels(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		of       func(i int) string
		unlisted []string
		listed   int
	}{
		{"pods", func(i int) string {
			return fmt.Sprintf(`{"resource":{"k8s.namespace.name":"n%d","k8s.pod.name":"p%d"}}`, i%3, i)
		}, []string{"k8s.pod.name"}, 3},
		{"two", func(i int) string {
			return fmt.Sprintf(`{"stream":{"a":"%d","b":"%d","c":"x"}}`, i/2, i)
		}, nil, 0},
		{"names", func(i int) string { return fmt.Sprintf(`{"stream":{"name%d":"x"}}`, i) }, []string{segment.AllUnlisted}, 0},
		{"long", func(i int) string { return fmt.Sprintf(`{"stream":{"a":"%d%01000d","b":"1"}}`, i, 0) }, []string{"a"}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var records []record.Record
			for i := range 2500 {
				records = append(records, with(rec(time.Duration(i)*time.Millisecond, record.Info, "app", "m"), c.of(i)))
			}
			blob, _ := write(t, options(), records...)
			f, err := verify(t, blob)
			if err != nil {
				t.Fatal(err)
			}
			if c.name == "two" { // of names with as many values, which goes first does not matter
				if len(f.Labels) != 1 || len(f.Unlisted) != 2 {
					t.Errorf("%v, %q not listed", f.Labels, f.Unlisted)
				}
				return
			}
			if len(f.Labels) != c.listed || !slices.Equal(f.Unlisted, c.unlisted) {
				t.Errorf("%d combinations, %q not listed; want %d, %q", len(f.Labels), f.Unlisted, c.listed, c.unlisted)
			}
		})
	}
}

// An output counts by the instances of its inputs.
func TestOutputLabels(t *testing.T) {
	t.Parallel()
	var parts []part
	for i, instance := range []string{"a", "b"} {
		opts := options()
		opts.Instance = instance
		parts = append(parts, newPart(t, opts, uint64(i+1), 1,
			with(rec(time.Second, record.Info, "app", "one"), `{"resource":{"k8s.pod.name":"p"}}`),
			rec(time.Duration(2+i)*time.Second, record.Error, "app", "three")))
	}
	blob, _, _ := writeOutput(t, parts, nil)
	f, err := verify(t, blob)
	if err != nil {
		t.Fatal(err)
	}
	counts := func(level record.Level) (c record.Counts) {
		c[level] = 1
		return c
	}
	pod := `{"k8s.pod.name":"p"}`
	want := []segment.Labels{
		{Instance: "a", Start: at(2 * time.Second), End: at(2 * time.Second), Levels: counts(record.Error), Bytes: 5},
		{Instance: "b", Start: at(3 * time.Second), End: at(3 * time.Second), Levels: counts(record.Error), Bytes: 5},
		{Text: pod, Instance: "a", Start: at(time.Second), End: at(time.Second), Levels: counts(record.Info), Bytes: 3},
		{Text: pod, Instance: "b", Start: at(time.Second), End: at(time.Second), Levels: counts(record.Info), Bytes: 3},
	}
	if diff := gocmp.Diff(want, f.Labels); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// Forged combinations are refused, and false ones found by Verify.
func TestForgedLabels(t *testing.T) {
	t.Parallel()
	blob, _ := write(t, options(), with(rec(time.Second, record.Info, "app", "one"), `{"stream":{"a":"1"}}`), rec(2*time.Second, record.Warn, "app", "two"))
	for name, forge := range map[string]func(f *segment.Footer){
		"order":   func(f *segment.Footer) { slices.Reverse(f.Labels) },
		"text":    func(f *segment.Footer) { f.Labels[1].Text = `{"a":1}` },
		"other":   func(f *segment.Footer) { f.Labels[1].Text = `{"a":"2"}` },
		"records": func(f *segment.Footer) { f.Labels[1].Levels[record.Info] = 1 << 63 },
		"moved": func(f *segment.Footer) {
			f.Labels[0].Levels, f.Labels[1].Levels = f.Labels[1].Levels, f.Labels[0].Levels
		},
		"bytes":    func(f *segment.Footer) { f.Labels[0].Bytes++ },
		"time":     func(f *segment.Footer) { f.Labels[0].Start-- },
		"outside":  func(f *segment.Footer) { f.Labels[0].End += int64(time.Hour) },
		"unlisted": func(f *segment.Footer) { f.Unlisted = []string{"a"} },
		"missing":  func(f *segment.Footer) { f.Labels, f.Metadata.Labels = nil, 0 },
	} {
		f, err := verify(t, blob)
		if err != nil {
			t.Fatal(err)
		}
		f.Labels = slices.Clone(f.Labels)
		forge(f)
		frame, err := segment.AppendFooter(nil, f)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := verify(t, slices.Concat(blob[:f.Footer], frame)); err == nil {
			t.Errorf("%s: not found", name)
		}
	}
}

// A column says that it has attributes only if no message and no other attribute has its name; Verify finds those that lie.
func TestAttributeColumns(t *testing.T) {
	t.Parallel()
	opts := options()
	opts.Columns = &columns.Options{Named: []string{"a.b", "n"}, Share: 10}
	plain := rec(time.Second, record.Info, "app", "text")
	for name, c := range map[string]struct {
		records []record.Record
		want    map[string]bool
	}{
		"only":           {[]record.Record{with(plain, `{"a.b":"x","n":1}`), plain}, map[string]bool{"a.b": true, "n": true}},
		"groups":         {[]record.Record{with(plain, `{"resource":{"a.b":"x"}}`), with(plain, `{"n":1}`)}, map[string]bool{"a.b": true, "n": true}},
		"two groups":     {[]record.Record{with(plain, `{"resource":{"a.b":"x"}}`), with(plain, `{"a.b":"y","n":1}`)}, map[string]bool{"a.b": false, "n": true}},
		"same label":     {[]record.Record{with(plain, `{"a.b":"x","n":1}`), with(plain, `{"a_b":"y"}`)}, map[string]bool{"a.b": false, "a_b": false, "n": true}},
		"map":            {[]record.Record{with(plain, `{"a":{"b":"x"},"n":1}`)}, map[string]bool{"a.b": true, "n": true}},
		"map and name":   {[]record.Record{with(plain, `{"a":{"b":"x"},"n":1}`), with(plain, `{"a.b":"y"}`)}, map[string]bool{"a.b": false, "n": true}},
		"message":        {[]record.Record{with(rec(0, record.Info, "app", `{"n":2}`), `{"a.b":"x"}`), with(plain, `{"n":1}`)}, map[string]bool{"a.b": true, "n": false}},
		"other column":   {[]record.Record{with(rec(0, record.Info, "app", `{"a.b":"z"}`), `{"n":1}`)}, map[string]bool{"a.b": false, "n": true}},
		"no attributes":  {[]record.Record{rec(0, record.Info, "app", `{"a.b":"z","n":1}`)}, map[string]bool{"a.b": false, "n": false}},
		"hidden message": {[]record.Record{with(rec(0, record.Info, "app", `{"n":2}`), `{"a.b":"x","n":1}`)}, map[string]bool{"a.b": true, "n": true}},
	} {
		blob, _ := write(t, opts, c.records...)
		f, err := verify(t, blob)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		list, err := segment.ReadColumns(t.Context(), ranges(blob), f)
		if err != nil || list == nil {
			t.Fatalf("%s: %v, %v", name, list, err)
		}
		got := map[string]bool{}
		var forged []columns.Column
		lies := false
		for _, column := range list.Columns {
			p := column.Pages[0]
			page := blob[p.Offset : p.Offset+p.Length]
			forged = append(forged, columns.Column{Name: column.Name, Pages: [][]byte{page}, Least: []string{p.Least}, Greatest: []string{p.Greatest}, Attributes: []bool{column.Name.Fixed == ""}})
			if column.Name.Fixed == "" {
				got[column.Name.Field] = p.Attributes
				lies = lies || !p.Attributes && name != "no attributes"
			}
		}
		if diff := gocmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
		other, err := segment.ReplaceColumns(blob, f, forged, list.Forms)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := verify(t, other); lies != (err != nil) && name != "no attributes" {
			t.Errorf("%s: of attributes only: %v", name, err)
		}
	}
}
