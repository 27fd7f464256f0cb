package buffer_test

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"logstow/blobnaming"
	"logstow/buffer"
	"logstow/internal/test/testrand"
	"logstow/record"
)

// TestEveryRecordOnceInOrder appends from several goroutines while others take, return
// and finish batches, and asserts that every record is delivered once, in its bucket, and
// records of one source and time in the order appended.
func TestEveryRecordOnceInOrder(t *testing.T) {
	t.Parallel()
	const drained = "drained meanwhile"
	for name, opts := range map[string]buffer.Options{
		"small batches": {FlushSize: 20 << 10, Width: 5 * time.Minute},
		drained:         {FlushSize: 20 << 10, Width: 5 * time.Minute, FlushInterval: time.Millisecond},
		"by age":        {FlushInterval: time.Millisecond, Width: 5 * time.Minute},
		"little memory": {Memory: 300 << 10, Width: 5 * time.Minute, FlushInterval: -1},
		"no memory":     {Memory: 1, Width: 5 * time.Minute, FlushInterval: -1},
		"few open":      {MaxOpen: 3, Width: 5 * time.Minute},
		"once":          {Once: true, Memory: 300 << 10, Width: 5 * time.Minute},
		"defaults":      {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seed := testrand.Seed(t)
			p := property{opts: opts, seed: seed, sent: map[string]sentRecord{}, drainMeanwhile: name == drained}
			p.run(t)
		})
	}
}

type sentRecord struct {
	service, source string
	time, read      int64
	number          int
}

type property struct {
	opts buffer.Options
	seed uint64
	// drainMeanwhile drains the buffer while it is appended to.
	drainMeanwhile bool

	mu       sync.Mutex
	sent     map[string]sentRecord
	received []sealed
}

func (p *property) run(t *testing.T) {
	b := open(t, p.opts)
	var producers, consumers sync.WaitGroup
	for i := range 4 {
		producers.Go(func() { p.produce(t, b, i) })
	}
	for i := range 3 {
		consumers.Go(func() { p.consume(t, b, i) })
	}
	if p.drainMeanwhile {
		for b.Stats().Done < 30 {
			runtime.Gosched()
		}
		b.Drain(t.Context())
	}
	producers.Wait()
	b.Drain(t.Context())
	consumers.Wait()
	if t.Failed() {
		return
	}
	if err := b.Close(); err != nil { // it waits for what sealed the last batch, which counts its bytes until it has ended
		t.Fatal(err)
	}
	if s := b.Stats(); s.Bytes != 0 || s.Open+s.Waiting+s.Sending != 0 || s.Records != uint64(len(p.sent)) {
		t.Errorf("at the end: %+v, want no bytes, no batches and %d records", s, len(p.sent))
	}
	p.check(t)
}

func (p *property) produce(t *testing.T, b *buffer.Buffer, id int) {
	rnd := rand.New(rand.NewPCG(p.seed, uint64(id)))
	source := fmt.Sprintf("source%d", id)
	number := 0
	for i := 0; i < 40 || p.drainMeanwhile; i++ {
		c := buffer.Chunk{
			Service: []string{"api", "web", "queue"}[rnd.IntN(3)],
			Read:    noon.Add(24*time.Hour + time.Duration(id)).UnixNano(),
		}
		sent := map[string]sentRecord{}
		spread := 1 + rnd.IntN(40)*rnd.IntN(2)
		for range rnd.IntN(200) {
			number++
			at := noon.Add(time.Duration(rnd.IntN(spread))*time.Minute + time.Duration(rnd.IntN(3))*time.Second)
			key := fmt.Sprintf("%s-%d", source, number)
			size := rnd.IntN(60)
			if rnd.IntN(100) == 0 {
				size = rnd.IntN(20 << 10)
			}
			c.Records = append(c.Records, record.Record{
				Time: at.UnixNano(), Level: record.Level(rnd.IntN(record.Levels)), Source: source,
				Message: []byte(key + " " + noise(rnd, size)),
			})
			sent[key] = sentRecord{c.Service, source, at.UnixNano(), c.Read, number}
		}
		position := []byte(fmt.Sprint(number))
		c.Positions = []buffer.Position{{Input: source, Value: position}}
		lsn, err := b.Append(t.Context(), c)
		if p.drainMeanwhile && errors.Is(err, buffer.ErrClosed) {
			return
		}
		if err != nil {
			t.Errorf("append: %v", err)
			return
		}
		p.mu.Lock()
		maps.Copy(p.sent, sent)
		p.mu.Unlock()
		if err := b.Synced(t.Context(), lsn); err != nil {
			t.Errorf("synced: %v", err)
		}
		// The buffer must have copied what it retains.
		for i := range c.Records {
			clear(c.Records[i].Message)
		}
		clear(position)
		if got, ok := b.Position(source); !ok || string(got) != fmt.Sprint(number) {
			t.Errorf("position of %s is %q, want %d", source, got, number)
		}
	}
}

func (p *property) consume(t *testing.T, b *buffer.Buffer, id int) {
	rnd := rand.New(rand.NewPCG(p.seed, uint64(1000+id)))
	for {
		batch, err := b.Next(t.Context())
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Errorf("next: %v", err)
			return
		}
		if err := batch.Load(t.Context()); err != nil {
			t.Errorf("load: %v", err)
			return
		}
		switch rnd.IntN(4) {
		case 0:
			batch.Return()
			continue
		case 1:
			if err := batch.SetName("here", "some/name"); err != nil {
				t.Errorf("set name: %v", err)
			}
		}
		got := decode(t, batch)
		p.mu.Lock()
		p.received = append(p.received, got)
		p.mu.Unlock()
		done := batch.Done
		if rnd.IntN(2) == 0 {
			done = func() error { return batch.DoneWithEntity("etag") }
		}
		if err := done(); err != nil {
			t.Errorf("done: %v", err)
		}
	}
}

func (p *property) check(t *testing.T) {
	slices.SortFunc(p.received, func(a, b sealed) int { return cmp.Compare(a.Meta.Seq, b.Meta.Seq) })
	width := cmp.Or(p.opts.Width, time.Hour)
	type place struct {
		service, source string
		time            int64
	}
	last := map[place]int{}
	seen := map[string]bool{}
	batches := map[blobnaming.Batch]bool{}
	var seq int64
	for _, s := range p.received {
		if batches[s.Meta.Batch] || s.Meta.Seq <= seq {
			t.Fatalf("batch %v seq %d after %d: twice, or not rising", s.Meta.Batch, s.Meta.Seq, seq)
		}
		batches[s.Meta.Batch], seq = true, s.Meta.Seq
		for _, r := range s.records {
			key, _, _ := strings.Cut(string(r.Message), " ")
			sent, ok := p.sent[key]
			if !ok || seen[key] {
				t.Fatalf("record %q: unknown, or twice", key)
			}
			seen[key] = true
			if sent.service != s.Service || !blobnaming.BucketStart(r.Time, width).Equal(s.BucketStart) {
				t.Fatalf("record %q of %s at %d is in %s %v", key, sent.service, r.Time, s.Service, s.BucketStart)
			}
			if late := r.Time == sent.read && p.opts.MaxOpen > 0; r.Time != sent.time && !late {
				t.Fatalf("record %q has time %d, want %d", key, r.Time, sent.time)
			}
			at := place{s.Service, sent.source, r.Time}
			if sent.number < last[at] {
				t.Fatalf("record %q comes after number %d of the same time", key, last[at])
			}
			last[at] = sent.number
		}
	}
	if len(seen) != len(p.sent) {
		t.Fatalf("%d records came out, %d went in", len(seen), len(p.sent))
	}
}
