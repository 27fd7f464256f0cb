package compaction_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"logstow/blobnaming"
	"logstow/catalog"
	"logstow/internal/test/effort"
	"logstow/internal/test/testrand"
	"logstow/query"
	"logstow/segment"
	"logstow/store"
)

// copied are the blobs of a store in memory.
type copied struct {
	store.BlobReader
	blobs  []store.Blob
	bodies map[string][]byte
}

func copyBlobs(t *testing.T, s store.Store) *copied {
	t.Helper()
	c := &copied{bodies: make(map[string][]byte)}
	for _, b := range []store.BlobReader{s.Blobs(), s.Compacted()} {
		for page, err := range b.List(t.Context(), "") {
			if err != nil {
				t.Fatal(err)
			}
			for _, blob := range page {
				body, err := b.Read(t.Context(), blob.Ref(), 0, blob.Size)
				if err != nil {
					t.Fatal(err)
				}
				c.blobs, c.bodies[blob.Name] = append(c.blobs, blob), body
			}
		}
	}
	return c
}

// half is one of the containers.
func (c *copied) half(compacted bool) *copied {
	of := func(b store.Blob) bool {
		_, err := blobnaming.Parse(b.Name)
		return (err == nil) == compacted
	}
	return &copied{bodies: c.bodies, blobs: slices.DeleteFunc(slices.Clone(c.blobs), of)}
}

func (c *copied) Read(_ context.Context, ref store.BlobRef, off, n int64) ([]byte, error) {
	return slices.Clone(c.bodies[ref.Name][off : off+n]), nil
}

func (c *copied) List(_ context.Context, prefix string) iter.Seq2[[]store.Blob, error] {
	return func(yield func([]store.Blob, error) bool) {
		yield(slices.DeleteFunc(slices.Clone(c.blobs), func(b store.Blob) bool { return !strings.HasPrefix(b.Name, prefix) }), nil)
	}
}

func (c *copied) ListPrefixes(_ context.Context, prefix string) iter.Seq2[[]string, error] {
	return func(yield func([]string, error) bool) {
		var all []string
		for _, b := range c.blobs {
			if rest, ok := strings.CutPrefix(b.Name, prefix); ok {
				dir, _, _ := strings.Cut(rest, "/")
				all = append(all, prefix+dir+"/")
			}
		}
		yield(slices.Compact(all), nil)
	}
}

// ask prints the records of the fleet's hour with their instances and counts them, and returns what the
// report notes and what it could not read.
func (c *copied) ask(t *testing.T) (answers string, notes []string, problems []error) {
	t.Helper()
	var b strings.Builder
	q, err := query.New([]query.Store{{Name: "copied", Blobs: c.half(false), Compacted: c.half(true)}}, query.Selection{From: hour(), To: hour().Add(time.Hour)}, query.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := q.Plan(t.Context())
	if err == nil {
		err = q.Run(t.Context(), p, func(m query.Match) error {
			_, err := fmt.Fprintf(&b, "%s %s\n", m.Instance, m.Line)
			return err
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	counted := countBy(t, q, p, "instance", "minute")
	report := q.Report()
	for _, problem := range report.Problems {
		problems = append(problems, problem)
	}
	return fmt.Sprint(b.String(), counted.Total, counted.Rows), report.Notes, problems
}

// No single bit of an output that is wrong changes an answer while the inputs are there. In a block, and
// in what the output records of its inputs, each is detected, and the report names the output. The long
// form flips all of them, others one bit of each byte or of a sample of bytes.
func TestLongEveryBitOfAnOutput(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Test, "flips many bits")
	s := openStore(t)
	rnd := testrand.New(t)
	web := newFleet(t, s, rnd, "web")
	for i := range 3 {
		web.store(web.segment(fmt.Sprintf("pod-%d", i), hour(), time.Hour, 4))
	}
	o := options(t)
	o.KeepInputs = true
	run(t, s, o)
	whole := copyBlobs(t, s)
	want, notes, problems := whole.ask(t)
	if len(notes)+len(problems) > 0 {
		t.Fatalf("notes %q, problems %v", notes, problems)
	}
	segments, _ := list(t, s)
	output := segments[slices.IndexFunc(segments, func(s catalog.Segment) bool { return s.Meta.IsOutput() })]
	name := output.Name.String()
	alone := &copied{bodies: whole.bodies, blobs: slices.DeleteFunc(slices.Clone(whole.blobs), func(b store.Blob) bool { return b.Name != name })}
	if got, notes, problems := alone.ask(t); got != want || len(notes)+len(problems) > 0 {
		t.Fatalf("without inputs: notes %q, problems %v\n%s", notes, problems, firstDifference(got, want))
	}

	footer, origins, err := segment.ReadOrigins(t.Context(), rangeOf(s, output), output.Size, output.Meta.Origins)
	if err != nil {
		t.Fatal(err)
	}
	checked := make([]string, output.Size) // what each byte is of; "" is filter, footer or between
	mark := func(part string, from, to int64) {
		t.Logf("%s: bytes %d to %d of %d", part, from, to, output.Size)
		for at := from; at < to; at++ {
			checked[at] = part
		}
	}
	mark("list", output.Meta.Origins, output.Meta.Footer)
	for i, b := range footer.Blocks {
		mark("blocks", b.Offset, b.Offset+b.Stored)
		mark("pages", origins.Pages[i].Offset, origins.Pages[i].Offset+origins.Pages[i].Length)
	}
	body := whole.bodies[name]
	long, chosen, sample := effort.Of() == effort.Long, int64(0), effort.NewSample(t, 4)
	for bit := range output.Size * 8 {
		if bit%8 == 0 {
			if chosen = rnd.Int64N(8); !sample.Has() {
				chosen = -1
			}
		}
		if !long && bit%8 != chosen {
			continue
		}
		part := checked[bit/8]
		body[bit/8] ^= 1 << (bit % 8)
		got, notes, problems := whole.ask(t)
		left, _, missing := alone.ask(t)
		body[bit/8] ^= 1 << (bit % 8)
		if got != want {
			t.Fatalf("bit %d (%s): answers differ:\n%s", bit, part, firstDifference(got, want))
		}
		named := slices.ContainsFunc(notes, func(note string) bool { return strings.Contains(note, name) })
		if names := func(err error) bool { return strings.Contains(err.Error(), name) }; part == "list" && !slices.ContainsFunc(problems, names) {
			t.Errorf("bit %d (list): problems %v", bit, problems)
		}
		if (part == "blocks" || part == "pages") && (!named || len(problems) > 0) {
			t.Errorf("bit %d (%s): notes %q, problems %v", bit, part, notes, problems)
		}
		if (left != want || part != "") && (len(missing) == 0 || !strings.Contains(missing[0].Error(), name)) {
			t.Errorf("bit %d (%s): without inputs: problems %v", bit, part, missing)
		}
	}
}
