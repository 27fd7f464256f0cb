package buffer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"logstow/blobnaming"
	"logstow/internal/test/disktest"
	"logstow/internal/test/effort"
	"logstow/internal/test/testrand"
	"logstow/record"
	"logstow/segment"
)

// TestLongDiskSizes runs a buffer on disks from MinDisk to 64 MiB, with outages of storage,
// other programs on the disk and kills, and asserts that each line is stored once and
// nothing hangs.
func TestLongDiskSizes(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Test, "fills disks")
	seed := testrand.Seed(t)
	sizes := []int64{MinDisk, 12 << 20, 16 << 20, 24 << 20}
	if effort.Of() < effort.Full {
		sizes = sizes[:1]
	}
	if effort.Of() == effort.Long {
		for size := int64(MinDisk); size <= 64<<20; size += 1 << 20 {
			sizes = append(sizes, size)
		}
	}
	for i, size := range sizes {
		t.Run(fmt.Sprintf("%d MiB", size>>20), func(t *testing.T) {
			w := newWorld(t, size, seed+uint64(i))
			lines := int(size / 200 * 3)
			for w.lifetime(lines) {
			}
			w.check(lines)
		})
	}
}

// Names in a buffer's directory.
const (
	logDir      = "wal"
	sealedDir   = "sealed"
	reserveFile = "reserve"
)

// world is a source of numbered lines, a small disk and a storage; processes are started and
// killed in it.
type world struct {
	t    *testing.T
	dir  string
	size int64
	seed uint64
	rnd  *rand.Rand
	// services take turns; words is how many random words are in a line, of which
	// few make it compressible. The first line has the size large.
	services, words, large int
	flushInterval          time.Duration
	log                    *logBuffer

	mu sync.Mutex
	fs *disktest.FS
	// process counts the processes: storage accepts nothing from a killed one.
	process int
	names   map[string]blobnaming.Batch
	batches map[blobnaming.Batch]int64
	counts  map[int]int
	away    outage
}

// outage is whether storage is unavailable.
type outage struct {
	mu sync.Mutex
	// over is closed when storage is back; it is nil while it is available.
	over chan struct{}
}

// set begins or ends an outage.
func (o *outage) set(away bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case away && o.over == nil:
		o.over = make(chan struct{})
	case !away && o.over != nil:
		close(o.over)
		o.over = nil
	}
}

// wait waits until there is no outage, or the context ends.
func (o *outage) wait(ctx context.Context) error {
	for {
		o.mu.Lock()
		over := o.over
		o.mu.Unlock()
		if over == nil {
			return nil
		}
		select {
		case <-over:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// logBuffer collects a log and may be read concurrently.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func newWorld(t *testing.T, size int64, seed uint64) *world {
	rnd := rand.New(rand.NewPCG(seed, 0))
	w := &world{
		t: t, dir: t.TempDir(), size: size, seed: seed, rnd: rnd, fs: disktest.New(), log: new(logBuffer),
		services: 1 + rnd.IntN(6), words: 1 + rnd.IntN(14), flushInterval: -1,
		names: map[string]blobnaming.Batch{}, batches: map[blobnaming.Batch]int64{}, counts: map[int]int{},
	}
	if rnd.IntN(2) == 0 {
		w.flushInterval = 20 * time.Millisecond
	}
	w.fs.Limit(size)
	return w
}

func (w *world) options() Options {
	return Options{
		Instance: "i", Dir: w.dir, fs: w.fs, Sync: SyncNever, FlushInterval: w.flushInterval, fullRetryInterval: time.Millisecond,
		Log: slog.New(slog.NewTextHandler(w.log, nil)),
	}
}

// record is the line of a number: about 230 bytes.
func (w *world) record(n int) record.Record {
	rnd := rand.New(rand.NewPCG(w.seed, uint64(n)))
	text := fmt.Appendf(nil, "line %d ", n)
	for i := range 14 {
		if i < w.words {
			text = fmt.Appendf(text, "%016x", rnd.Uint64())
		} else {
			text = append(text, "the quick brown "...)
		}
	}
	for len(text) < w.large && n == 0 {
		text = fmt.Appendf(text, "%016x", rnd.Uint64())
	}
	return record.Record{Time: noonNanos + int64(n)*1e3, Source: "s", Message: text}
}

// lifetime runs one process; it reports whether another one is needed.
func (w *world) lifetime(lines int) (more bool) {
	last := w.process >= 8
	w.away.set(!last && w.rnd.IntN(2) == 0)
	w.fs.Occupy(w.size)
	if !last && w.rnd.IntN(3) == 0 { // another program uses a part of the free space
		w.fs.Occupy(w.rnd.Int64N(w.size / 2))
	}
	l := w.start(lines)
	if last {
		l.end()
		return false
	}
	l.standstill(w.rnd.Int64N(int64(lines / 1000)))
	if w.rnd.IntN(3) == 0 { // storage is back
		w.away.set(false)
		l.standstill(l.moves.Load() + w.rnd.Int64N(10))
	}
	select {
	case <-l.ended:
		l.end()
		return false
	default:
		l.kill()
		return true
	}
}

// process is a running process.
type process struct {
	w      *world
	number int
	b      *Buffer
	cancel context.CancelFunc
	// moves counts appends and deliveries.
	moves atomic.Int64
	// allRead is set once the input was read.
	allRead atomic.Bool
	// ended is closed when all is read and delivered, or it was killed.
	ended chan struct{}
}

func (w *world) start(lines int) *process {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	b, err := Open(ctx, w.options())
	if err != nil {
		w.t.Fatalf("open: %v\n%s", err, w.log)
	}
	p := &process{w: w, number: w.process, b: b, cancel: cancel, ended: make(chan struct{})}
	var all sync.WaitGroup
	all.Go(func() { p.read(ctx, lines) })
	for range 3 {
		all.Go(func() { p.send(ctx) })
	}
	go func() { all.Wait(); close(p.ended) }()
	return p
}

// read is the input: a position i stands for the first i lines.
func (p *process) read(ctx context.Context, lines int) {
	rnd := rand.New(rand.NewPCG(p.w.seed, uint64(1000+p.number)))
	v, _ := p.b.Position("input")
	for at, _ := strconv.Atoi(string(v)); at < lines; {
		n := min(1+rnd.IntN(3000/p.w.services), lines-at)
		c := Chunk{
			Service: fmt.Sprint("service", rnd.IntN(p.w.services)), Read: noonNanos,
			Positions: []Position{{Input: "input", Value: []byte(strconv.Itoa(at + n))}},
		}
		for i := range n {
			c.Records = append(c.Records, p.w.record(at+i))
		}
		if _, err := p.b.Append(ctx, c); err != nil {
			if ctx.Err() == nil {
				p.w.t.Errorf("append: %v", err)
			}
			return
		}
		at += n
		p.moves.Add(1)
	}
	p.allRead.Store(true)
	p.b.Drain(ctx)
}

// send delivers batches as a shipper does.
func (p *process) send(ctx context.Context) {
	for {
		batch, err := p.b.Next(ctx)
		if errors.Is(err, io.EOF) || ctx.Err() != nil {
			return
		}
		if err == nil {
			err = p.deliver(ctx, batch)
		}
		if err != nil && ctx.Err() == nil && !errors.Is(err, errKilled) {
			p.w.t.Errorf("deliver: %v", err)
		}
		if err != nil {
			return
		}
		p.moves.Add(1)
	}
}

func (p *process) deliver(ctx context.Context, batch *Batch) error {
	w := p.w
	if err := w.away.wait(ctx); err != nil {
		return err
	}
	if err := batch.Load(ctx); err != nil {
		return err
	}
	body, err := batch.Body()
	if err != nil {
		return err
	}
	for stored := false; !stored; {
		if batch.Name() == "" {
			if err := batch.SetName("store", fmt.Sprint(p.number, batch.Meta.Seq)); err != nil {
				return err
			}
		}
		if stored, err = p.create(batch.Name(), batch.Meta.Batch, body); err != nil {
			return err
		}
		if !stored {
			return fmt.Errorf("the name %s is another batch's", batch.Name())
		}
	}
	return batch.DoneWithEntity("etag")
}

var errKilled = errors.New("the process was killed")

// create is storage's create: a name can be used once, and queries drop a batch's second copy.
func (p *process) create(name string, id blobnaming.Batch, body []byte) (stored bool, err error) {
	w := p.w
	w.mu.Lock()
	defer w.mu.Unlock()
	if p.number != w.process {
		return false, errKilled
	}
	if there, ok := w.names[name]; ok {
		return there == id, nil
	}
	w.names[name] = id
	if size, ok := w.batches[id]; ok {
		if size != int64(len(body)) {
			w.t.Errorf("batch %s is stored with %d and with %d bytes", id, size, len(body))
		}
		return true, nil
	}
	w.batches[id] = int64(len(body))
	return true, w.count(body)
}

// count counts the lines of a segment.
func (w *world) count(body []byte) error {
	read := func(_ context.Context, off, n int64) ([]byte, error) { return body[off : off+n], nil }
	f, err := segment.ReadFooter(context.Background(), read, int64(len(body)), -1)
	if err != nil {
		return err
	}
	decoder := segment.NewDecoder()
	for _, block := range f.Blocks {
		text, err := decoder.DecodeBlock(nil, body[block.Offset:block.Offset+block.Stored], block)
		if err != nil {
			return err
		}
		for line := range bytes.Lines(text) {
			_, rest, _ := bytes.Cut(line, []byte("line "))
			number, _, _ := bytes.Cut(rest, []byte(" "))
			n, err := strconv.Atoi(string(number))
			if err != nil {
				return err
			}
			w.counts[n]++
		}
	}
	return nil
}

// hang is how long nothing may move.
const hang = 2 * time.Minute

// standstill waits until nothing is appended or delivered any more, or moves reaches most, or
// all is done.
func (p *process) standstill(most int64) {
	still := func() bool { return p.b.spool.Waiting() || p.allRead.Load() }
	last, since := p.moves.Load(), time.Now()
	for time.Since(since) < 50*time.Millisecond || !still() {
		select {
		case <-p.ended:
			return
		case <-time.After(time.Millisecond):
		}
		now := p.moves.Load()
		if now >= most {
			return
		}
		if now != last {
			last, since = now, time.Now()
		}
		if time.Since(since) > hang {
			p.w.t.Fatalf("nothing moved for %v: %+v\n%s", hang, p.b.Stats(), p.w.log)
		}
	}
}

// kill is kill -9: disk and storage remain as they are now.
func (p *process) kill() {
	w := p.w
	w.mu.Lock()
	w.fs = w.fs.Crash(nil, false)
	w.process++
	w.mu.Unlock()
	p.cancel()
	_ = p.b.Close()
	<-p.ended
}

// end waits until all is read and delivered, and closes.
func (p *process) end() {
	p.w.t.Helper()
	last, since := p.moves.Load(), time.Now()
	for done := false; !done; {
		select {
		case <-p.ended:
			done = true
		case <-time.After(10 * time.Millisecond):
		}
		if now := p.moves.Load(); now != last {
			last, since = now, time.Now()
		}
		if time.Since(since) > hang {
			held, want := p.b.spool.Reserve()
			p.w.t.Errorf("nothing moved for %v: %+v, log of %d bytes, reserve %d of %d\n%s", hang, p.b.Stats(), p.b.spool.LogSize(), held, want, p.w.log)
			p.cancel()
			<-p.ended
			done = true
		}
	}
	p.cancel()
	if err := p.b.Close(); err != nil {
		p.w.t.Errorf("close: %v", err)
	}
}

// check asserts that each line is stored once.
func (w *world) check(lines int) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	missing, more := 0, 0
	for n := range lines {
		switch {
		case w.counts[n] == 0:
			missing++
		case w.counts[n] > 1:
			more++
		}
	}
	if missing+more > 0 || len(w.counts) > lines {
		w.t.Errorf("of %d lines %d are missing, %d stored more than once, %d numbers; seed %d\n%s", lines, missing, more, len(w.counts), w.seed, w.log)
	}
	w.t.Logf("%d lines in %d batches, %d kills", lines, len(w.batches), w.process)
}
