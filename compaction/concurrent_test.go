package compaction_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"logstow/blobnaming"
	"logstow/catalog"
	"logstow/compaction"
	"logstow/internal/test/catalogtest"
	"logstow/internal/test/effort"
	"logstow/internal/test/testrand"
	"logstow/record"
	"logstow/segment"
	"logstow/store"
)

var errFault = errors.New("connection lost")

// overtaken reports whether an error only says that other compactions were faster several times, as those are
// beside one that is stopped again and again: the next run goes on.
func overtaken(err error) bool {
	return strings.HasSuffix(err.Error(), "it keeps changing concurrently") && !strings.Contains(err.Error(), "\n")
}

// Compactions that fail at random requests, and lose responses, run beside shippers of late and
// repeated segments and beside queries: no query misses a record that was there when it began, or
// has one twice.
func TestLongConcurrent(t *testing.T) {
	t.Parallel()
	rounds := effort.Cases{Test: 2, Full: 12, Long: 300}.N()
	rnd := testrand.New(t)
	s := openStore(t)
	f := newFleet(t, s, rnd, "web")
	f.fill(hour(), 4, 40)
	var stored atomic.Int64 // lines 0 to stored-1 are there
	stored.Store(int64(f.lines))

	var all sync.WaitGroup
	stop, answered, failing := make(chan struct{}), make(chan struct{}), make(chan struct{})
	fail := sync.OnceFunc(func() { close(failing) })
	stopped := func() bool {
		select {
		case <-stop:
			return true
		default:
			return false
		}
	}
	var outputs, failed, queries atomic.Int64
	for i := range 2 {
		seed := rnd.Uint64N(1000)
		all.Go(func() {
			var requests atomic.Uint64
			fault := func() bool { return (requests.Add(1)*2654435761+seed)%97 < 3 }
			fs := &faulty{
				Store: s,
				read: func(_ string, do func() ([]byte, error)) ([]byte, error) {
					if fault() {
						return nil, errFault
					}
					return do()
				},
				create: func(_ string, do func() (string, error)) (string, error) {
					etag, err := do()
					if n := requests.Add(1); n%3 == 0 && err == nil {
						return "", errFault
					}
					return etag, err
				},
				delete: func(refs []store.BlobRef, do func() error) error {
					if requests.Add(1)%2 == 0 {
						return errors.Join(s.Blobs().Delete(t.Context(), refs[:len(refs)/2]), errFault)
					}
					return do()
				},
			}
			for !stopped() {
				o := compaction.DefaultOptions()
				o.After, o.Grace, o.Limits.LateAge, o.Limits.Inputs, o.TempDir = 0, 0, 0, 7+i*6, t.TempDir()
				report, err := compaction.Run(t.Context(), fs, o)
				outputs.Add(report.Outputs)
				switch err := errors.Join(err, report.Err()); {
				case errors.Is(err, errFault):
					failed.Add(1)
				case err != nil && !overtaken(err):
					t.Error(err)
					return
				}
			}
		})
	}
	for range 2 {
		all.Go(func() {
			defer fail() // does nothing at the end
			for !stopped() {
				before := stored.Load()
				seen, err := readOnce(t.Context(), s)
				if err != nil {
					t.Error(err)
					return
				}
				for line := range before {
					if seen[line] == 0 {
						t.Errorf("line %d of %d is missing", line, before)
						return
					}
				}
				for line, n := range seen {
					if n > 1 {
						t.Errorf("line %d is there %d times", line, n)
						return
					}
				}
				queries.Add(1)
				select {
				case answered <- struct{}{}:
				case <-stop:
				}
			}
		})
	}
	var old []plain
	begun := time.Now()
	happened := func() bool { return outputs.Load() > 0 && failed.Load() > 0 }
	// Queries may be much faster than compactions, which wait for the disk.
	for round := 0; !t.Failed() && (round < rounds || !happened() && time.Since(begun) < 2*time.Minute); round++ {
		p := f.segment(fmt.Sprintf("pod-%d", rnd.IntN(4)), hour(), time.Hour, 1+rnd.IntN(40))
		f.store(p)
		old = append(old, p)
		again := old[rnd.IntN(len(old))]
		f.number++
		again.name.Number = f.number
		f.store(again)
		stored.Store(int64(f.lines))
		select {
		case <-answered: // by each in turn, so that compactions do something meanwhile
		case <-failing:
		case <-time.After(2 * time.Minute):
			t.Error("no answer")
		}
	}
	close(stop)
	all.Wait()
	t.Logf("%d outputs, %d runs failed, %d queries", outputs.Load(), failed.Load(), queries.Load())
	if !happened() {
		t.Error("nothing happened")
	}
}

// readOnce is how often each line is in the answer of a reader that follows the rules: it lists the raw container, then the compacted
// one, hides what outputs contain, and looks for vanished inputs in outputs.
func readOnce(ctx context.Context, s store.Store) (map[int64]int, error) {
	var segments []catalog.Segment
	outputs := make(map[blobnaming.Name]catalog.Output)
	look := func(blobs store.BlobReader) error {
		for page, err := range blobs.List(ctx, "web/") {
			if errors.Is(err, store.ErrNoContainer) {
				return nil
			}
			if err != nil {
				return err
			}
			for _, b := range page {
				segment, err := catalogtest.NewSegment(b)
				if err != nil {
					return err
				}
				if segment.Meta.IsOutput() {
					outputs[segment.Name] = catalog.Output{Segment: segment}
				} else {
					segments = append(segments, segment)
				}
			}
		}
		return nil
	}
	read := func() (all []catalog.Output, err error) {
		for name, o := range outputs {
			if o.Inputs == nil {
				if o, err = catalog.ReadOutput(ctx, rangeOf(s, o.Segment), o.Segment); err != nil || o.Err != nil {
					return nil, errors.Join(err, o.Err)
				}
				outputs[name] = o
			}
			all = append(all, o)
		}
		return all, nil
	}
	if err := errors.Join(look(s.Blobs()), look(s.Compacted())); err != nil {
		return nil, err
	}
	known, err := read()
	if err != nil {
		return nil, err
	}
	if shared := catalog.Shared(known); shared != nil {
		return nil, fmt.Errorf("outputs share inputs: %v", shared)
	}
	lines := make(map[int64]int)
	for _, o := range known {
		if err := count(ctx, s, o.Segment, lines, nil); err != nil {
			return nil, err
		}
	}
	seen := make(map[catalog.Identity]bool)
	for i, place := range catalog.Contain(segments, known) {
		plain := segments[i]
		if place.Contained() || seen[plain.Identity()] {
			continue
		}
		seen[plain.Identity()] = true
		err := count(ctx, s, plain, lines, nil)
		if !errors.Is(err, store.ErrNotFound) {
			if err != nil {
				return nil, err
			}
			continue
		}
		if err := look(s.Compacted()); err != nil {
			return nil, err
		}
		now, err := read()
		if err != nil {
			return nil, err
		}
		place := catalog.Contain([]catalog.Segment{plain}, now)[0]
		if !place.Contained() {
			return nil, fmt.Errorf("%s is nowhere", plain.Name)
		}
		if err := count(ctx, s, now[place.Output].Segment, lines, &place.Input); err != nil {
			return nil, err
		}
	}
	return lines, nil
}

// count counts the lines of a segment, or those of one input of an output.
func count(ctx context.Context, s store.Store, of catalog.Segment, lines map[int64]int, input *int) error {
	body, err := half(s, of).Read(ctx, of.Ref(), 0, of.Size)
	if err != nil {
		return err
	}
	read := func(_ context.Context, off, n int64) ([]byte, error) { return body[off : off+n], nil }
	f, err := segment.ReadFooter(ctx, read, of.Size, of.Meta.Footer)
	if err != nil {
		return err
	}
	var origins *segment.Origins
	if input != nil {
		if _, origins, err = segment.ReadOrigins(ctx, read, of.Size, of.Meta.Origins); err != nil {
			return err
		}
	}
	for i, b := range f.Blocks {
		text, err := segment.NewDecoder().DecodeBlock(nil, body[b.Offset:b.Offset+b.Stored], b)
		if err != nil {
			return err
		}
		var page *segment.BlockOrigins
		if origins != nil {
			p := origins.Pages[i]
			if page, err = origins.DecodePage(body[p.Offset:p.Offset+p.Length], b); err != nil {
				return err
			}
		}
		for n := 0; len(text) > 0; n++ {
			line, rest, err := record.Next(text)
			if err != nil {
				return err
			}
			text = rest
			if page != nil && page.Part(n) != *input {
				continue
			}
			var number int64
			_, after, _ := strings.Cut(string(line.Raw), " line ")
			if _, err := fmt.Sscan(after, &number); err != nil {
				return err
			}
			lines[number]++
		}
	}
	return nil
}
