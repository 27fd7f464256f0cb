package compaction_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"logstow/blobnaming"
	"logstow/catalog"
	"logstow/compaction"
	"logstow/internal/test/catalogtest"
	"logstow/record"
	"logstow/segment"
	"logstow/store"
	"logstow/store/open"
	"logstow/tableindex"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// began is when the tests began.
//
//nolint:gochecknoglobals // the same in all tests, also when an hour ends during one
var began = time.Now().UTC()

// hour is an hour of a day that has ended and is kept.
func hour() time.Time { return began.Truncate(24 * time.Hour).Add(-9 * time.Hour) }

// openStore is an embedded store in a directory of the test's own.
func openStore(tb testing.TB) store.Store {
	tb.Helper()
	s, err := open.Store(tb.Context(), filepath.Join(tb.TempDir(), "store"), open.Options{Getenv: os.Getenv})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}

// options are those of a run in a test: nothing is too young.
func options(tb testing.TB) compaction.Options {
	o := compaction.DefaultOptions()
	o.After, o.Grace, o.Limits.LateAge, o.TempDir = 0, 0, 0, tb.TempDir()
	return o
}

// fleetBlock is the block size of the segments of a fleet.
const fleetBlock = 2000

// fleet writes the segments of many instances of a service.
type fleet struct {
	tb      testing.TB
	s       store.Store
	rnd     *rand.Rand
	service string
	class   string
	parse   string
	seq     map[string]int64
	number  uint64
	lines   int
	// padding is the number of random bytes that each message has besides.
	padding int
	// message makes the messages; nil is lines with a number.
	message func(instance string) string
	// levels is how many levels the records have.
	levels int
}

func newFleet(tb testing.TB, s store.Store, rnd *rand.Rand, service string) *fleet {
	return &fleet{tb: tb, s: s, rnd: rnd, service: service, seq: make(map[string]int64), levels: record.Levels}
}

// plain is a plain segment of a test, not stored yet.
type plain struct {
	name blobnaming.Name
	meta blobnaming.Metadata
	body []byte
}

// segment makes a segment of n records from the start of a bucket on, for so long.
func (f *fleet) segment(instance string, bucket time.Time, width time.Duration, n int) plain {
	f.tb.Helper()
	var b bytes.Buffer
	salt := [16]byte{}
	for i := range salt {
		salt[i] = byte(f.rnd.Uint32())
	}
	w := segment.NewWriter(&b, segment.Options{
		Service: f.service, Instance: instance, Class: f.class, Parse: f.parse, Salt: salt, BlockSize: fleetBlock,
		BucketStart: bucket.Unix(), BucketWidth: int64(width / time.Second),
	})
	for range n {
		// Few times, so that many are equal across instances.
		at := bucket.UnixNano() + f.rnd.Int64N(int64(width/time.Second)*4)*250e6
		message := fmt.Sprintf("%s line %d %s", instance, f.lines, strings.Repeat("x", f.rnd.IntN(80)))
		if f.message != nil {
			message = f.message(instance)
		}
		if f.rnd.IntN(10) == 0 {
			message += "\n\tat main.go:1\n"
		}
		for range f.padding / 16 {
			message += fmt.Sprintf("%016x", f.rnd.Uint64())
		}
		f.lines++
		r := record.Record{Time: at, Level: record.Level(f.rnd.IntN(f.levels)), Source: "app.log", Message: []byte(message)}
		if err := w.Append(r); err != nil {
			f.tb.Fatal(err)
		}
	}
	f.seq[instance]++
	m, err := w.Close(f.seq[instance])
	if err != nil {
		f.tb.Fatal(err)
	}
	f.number++
	return plain{blobnaming.Name{Service: f.service, Bucket: bucket, Number: f.number}, m, b.Bytes()}
}

// store stores a segment and its entity, as a shipper does.
func (f *fleet) store(p plain) {
	f.tb.Helper()
	etag, err := f.s.Blobs().Create(f.tb.Context(), p.name.String(), p.body, store.CreateOptions{Metadata: p.meta.Encode()})
	if err != nil {
		f.tb.Fatal(err)
	}
	row := tableindex.Entity{Name: p.name, Meta: p.meta, ETag: etag, Size: int64(len(p.body))}
	put := func() error {
		return tableindex.Put(f.tb.Context(), f.s.Tables(), f.s.Container(), []tableindex.Entity{row})
	}
	err = put()
	for errors.Is(err, store.ErrNoTable) { // retention dropped it just then
		err = put()
	}
	if err != nil {
		f.tb.Fatal(err)
	}
}

// fill stores segments of instances in buckets of several widths of an hour.
func (f *fleet) fill(hour time.Time, instances, segments int) {
	f.tb.Helper()
	for i := range segments {
		width := []time.Duration{5 * time.Minute, 15 * time.Minute, time.Hour}[f.rnd.IntN(3)]
		bucket := hour.Add(time.Duration(f.rnd.Int64N(int64(time.Hour/width))) * width)
		f.store(f.segment(fmt.Sprintf("pod-%d", i%instances), bucket, width, 1+f.rnd.IntN(60)))
	}
}

// relay makes one segment of the blocks of others of one bucket, as a relay does.
func (f *fleet) relay(instance string, parts ...plain) plain {
	f.tb.Helper()
	compressor, decoder := segment.NewCompressor(), segment.NewDecoder()
	var out bytes.Buffer
	w := segment.NewWriter(&out, segment.Options{
		Service: f.service, Instance: instance, Class: f.class, Parse: f.parse, Salt: [16]byte{byte(f.rnd.Uint32()), byte(f.rnd.Uint32())},
		BucketStart: parts[0].name.Bucket.Unix(), BucketWidth: 3600, Compressor: compressor,
	})
	for _, p := range parts {
		footer, err := segment.ReadFooter(f.tb.Context(), func(_ context.Context, off, n int64) ([]byte, error) { return p.body[off : off+n], nil }, int64(len(p.body)), p.meta.Footer)
		if err != nil {
			f.tb.Fatal(err)
		}
		for _, b := range footer.Blocks {
			stored := p.body[b.Offset : b.Offset+b.Stored]
			records, err := decoder.DecodeRecords(stored)
			if err != nil {
				f.tb.Fatal(err)
			}
			block, err := compressor.RelayBlock(stored, records, footer.Instance, false)
			if err == nil {
				err = w.AppendBlock(block)
			}
			if err != nil {
				f.tb.Fatal(err)
			}
		}
	}
	f.seq[instance]++
	m, err := w.Close(f.seq[instance])
	if err != nil {
		f.tb.Fatal(err)
	}
	f.number++
	return plain{blobnaming.Name{Service: f.service, Bucket: parts[0].name.Bucket, Number: f.number}, m, out.Bytes()}
}

// list lists both containers: the segments, outputs last, and the outputs that markers reject.
func list(tb testing.TB, s store.Store) (segments []catalog.Segment, rejected []blobnaming.Name) {
	tb.Helper()
	for _, name := range names(tb, s) {
		if n, err := blobnaming.ParseRejection(name); err == nil {
			rejected = append(rejected, n)
		}
	}
	for _, blob := range catalogtest.List(tb, s) {
		if _, err := blobnaming.ParseRejection(blob.Name); err == nil {
			continue
		}
		listed, err := catalogtest.NewSegment(blob)
		if err != nil {
			tb.Fatal(err)
		}
		segments = append(segments, listed)
	}
	return segments, rejected
}

// owned is a record as a reader gets it, with what orders it.
type owned struct {
	text   string
	origin segment.Origin
	block  int
	n      int
}

// readAll is what a reader gets of a store, in output order: it hides what is contained.
func readAll(tb testing.TB, s store.Store) []string {
	tb.Helper()
	segments, rejected := list(tb, s)
	var outputs []catalog.Output
	for _, o := range segments {
		if !o.Meta.IsOutput() {
			continue
		}
		got, err := catalog.ReadOutput(tb.Context(), rangeOf(s, o), o)
		if err != nil || got.Err != nil {
			tb.Fatal(err, got.Err)
		}
		got.Rejected = slices.Contains(rejected, o.Name)
		outputs = append(outputs, got)
	}
	if shared := catalog.Shared(outputs); shared != nil {
		tb.Fatalf("outputs share inputs: %v", shared)
	}
	var all []owned
	seen := make(map[catalog.Identity]bool) // copies of a batch
	for i, place := range catalog.Contain(segments, outputs) {
		segment := segments[i]
		if segment.Meta.IsOutput() || place.Contained() || seen[segment.Identity()] {
			continue
		}
		seen[segment.Identity()] = true
		all = append(all, records(tb, s, segment, nil)...)
	}
	for _, o := range outputs {
		if !o.Rejected {
			all = append(all, records(tb, s, o.Segment, o.Inputs)...)
		}
	}
	return inOrder(all)
}

// inOrder are records in output order, with the instance in front.
func inOrder(all []owned) []string {
	slices.SortStableFunc(all, func(a, b owned) int {
		if c := strings.Compare(a.text[:record.TimeLen], b.text[:record.TimeLen]); c != 0 {
			return c
		}
		return segment.CompareOrigins(a.origin, b.origin)
	})
	lines := make([]string, len(all))
	for i, o := range all {
		lines[i] = o.origin.Instance + " " + o.text
	}
	return lines
}

// half is the container of a segment.
func half(s store.Store, of catalog.Segment) store.Blobs {
	if of.Meta.IsOutput() {
		return s.Compacted()
	}
	return s.Blobs()
}

// rangeOf reads a segment of a store.
func rangeOf(s store.Store, of catalog.Segment) segment.Range {
	return func(ctx context.Context, off, n int64) ([]byte, error) {
		return half(s, of).Read(ctx, of.Ref(), off, n)
	}
}

// records are those of a segment; inputs are those of an output.
func records(tb testing.TB, s store.Store, of catalog.Segment, inputs []segment.Origin) (all []owned) {
	tb.Helper()
	read := rangeOf(s, of)
	f, err := segment.ReadFooter(tb.Context(), read, of.Size, of.Meta.Footer)
	if err != nil {
		tb.Fatal(err)
	}
	var origins *segment.Origins
	if inputs != nil {
		if _, origins, err = segment.ReadOrigins(tb.Context(), read, of.Size, of.Meta.Origins); err != nil {
			tb.Fatal(err)
		}
	}
	own := segment.Origin{Bucket: of.Name.Bucket.Unix(), Number: of.Name.Number, Instance: of.Meta.Instance, Seq: of.Meta.Seq}
	for i, b := range f.Blocks {
		stored, err := read(tb.Context(), b.Offset, b.Stored)
		if err != nil {
			tb.Fatal(err)
		}
		text, err := segment.NewDecoder().DecodeBlock(nil, stored, b)
		if err != nil {
			tb.Fatal(err)
		}
		var page *segment.BlockOrigins
		if origins != nil {
			p := origins.Pages[i]
			stored, err := read(tb.Context(), p.Offset, p.Length)
			if err != nil {
				tb.Fatal(err)
			}
			if page, err = origins.DecodePage(stored, b); err != nil {
				tb.Fatal(err)
			}
		}
		for n := 0; len(text) > 0; n++ {
			line, rest, err := record.Next(text)
			if err != nil {
				tb.Fatal(err)
			}
			origin := own
			origin.Instance = f.InstanceOf(b)
			if page != nil {
				part := origins.Parts[page.Part(n)]
				origin = origins.Inputs[part.Input]
				origin.Instance = part.Instance
			}
			all = append(all, owned{string(line.Text), origin, i, n})
			text = rest
		}
	}
	return all
}

// run compacts, and fails the test where something does not work.
func run(tb testing.TB, s store.Store, o compaction.Options) compaction.Report {
	tb.Helper()
	report, err := compaction.Run(tb.Context(), s, o)
	if err := errors.Join(err, report.Err()); err != nil {
		tb.Fatal(err)
	}
	return report
}

// names are all that a store holds, in order.
func names(tb testing.TB, s store.Store) (all []string) {
	tb.Helper()
	for _, b := range catalogtest.List(tb, s) {
		all = append(all, b.Name)
	}
	return all
}

// deleteAll deletes blobs of both containers.
func deleteAll(ctx context.Context, s store.Store, names ...string) (err error) {
	for _, name := range names {
		err = errors.Join(err, catalogtest.Container(s, name).Delete(ctx, store.AnyVersion(name)))
	}
	return err
}

// chains are the chains of a store, without the inputs of outputs.
func chains(tb testing.TB, s store.Store) (all []*compaction.Chain) {
	tb.Helper()
	c := catalog.Catalog{Blobs: s.Blobs(), Compacted: s.Compacted(), Sequential: true}
	services, err := c.Services(tb.Context())
	for _, service := range services {
		err = errors.Join(err, c.Walk(tb.Context(), service, began.AddDate(0, 0, -400), began.AddDate(0, 0, 1), nil, func(d *catalog.Day) error {
			all = append(all, compaction.Chains(d)...)
			return nil
		}))
	}
	if err != nil {
		tb.Fatal(err)
	}
	return all
}
