package batching

import (
	"context"
	"errors"
	"math"

	"logstow/buffer/wal"
)

// errQuit ends the replay after Quit.
var errQuit = errors.New("the buffer is closed")

// Replay appends the log's unsealed records to batches. On a full disk it waits until
// deliveries free space, or Quit is called.
func (b *Batches) Replay() {
	err := b.opts.Spool.Replay(b.replayOne)
	if err == nil {
		b.open.setReplayed(math.MaxUint64)
	}
	b.mu.Lock()
	if err != nil {
		b.stats.Unsealed++
	}
	n := b.stats.Replayed
	b.mu.Unlock()
	if n > 0 {
		b.opts.Log.Info("recovered records that an earlier process had not sealed", "records", n, "dir", b.opts.Spool.Dir())
	}
	if err == nil {
		b.Trim(true)
	} else if !errors.Is(err, errQuit) {
		b.opts.Log.Error("cannot replay the buffer's log", "error", b.opts.Failure.Set(err))
	}
}

// replayOne appends the records of a log entry to open batches.
func (b *Batches) replayOne(e wal.Records) error {
	select {
	case <-b.Quitting():
		return errQuit
	default:
	}
	if err := b.opts.Failure.Err(); err != nil {
		return err
	}
	b.open.setReplayed(e.First)
	b.mu.Lock()
	p := b.partition(e.Service)
	b.mu.Unlock()
	runs := make([]run, 0, len(e.Runs))
	at := 0
	for _, r := range e.Runs {
		k := bucket{e.Class, e.Parse, r.Start, r.Width}
		runs = append(runs, run{bucket: k, from: at, to: at + r.Count})
		at += r.Count
	}
	p.mu.Lock()
	var full []*openBatch
	var err error
	if e.Instance == "" {
		full, err = p.apply(e.Records, runs, e.First)
	} else {
		full, err = p.applyBlocks(relayAgain(p.opts, p.compressor, runs[0].bucket, e.Instance, e.Records), e.First)
	}
	p.mu.Unlock()
	for _, o := range full {
		b.sealer.sealDetached(context.Background(), o) // Quit ends the wait
	}
	b.mu.Lock()
	b.stats.Replayed += uint64(len(e.Records))
	b.mu.Unlock()
	for b.opts.Memory.Exceeded() && b.SealLargest(context.Background()) { // Quit ends the wait
	}
	return err
}
