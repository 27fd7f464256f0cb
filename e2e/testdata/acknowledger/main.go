// Acknowledger stands for an input from the network: it appends records to a
// durable buffer and prints a line for each chunk once it may be acknowledged,
// while the buffer is shipped. The crash test kills it.
//
//	acknowledger -dir D -store S -run N [-sync always|1s|never] [-drain]
//
// It prints "at SENDER VALUE" for each sender's position found at the start and
// "ack SENDER CHUNK RECORDS" for each acknowledged chunk. With -drain it sends
// nothing, stores what is there, and ends.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"logstow/buffer"
	"logstow/record"
	"logstow/store/open"
	"logstow/upload"
)

// senders is how many send at one time.
const senders = 4

func main() {
	dir := flag.String("dir", "", "buffer directory")
	spec := flag.String("store", "", "store")
	run := flag.Int("run", 0, "number of this run, part of every line")
	sync := flag.String("sync", "1s", "sync policy")
	drain := flag.Bool("drain", false, "store what is there, and end")
	flag.Parse()
	a := acknowledger{run: *run}
	if err := a.do(context.Background(), *dir, *spec, *sync, *drain); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type acknowledger struct {
	run    int
	buffer *buffer.Buffer
}

func (a *acknowledger) do(ctx context.Context, dir, spec, sync string, drain bool) error {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	st, err := open.Store(ctx, spec, open.Options{Getenv: os.Getenv, Log: log})
	if err != nil {
		return err
	}
	policy, err := policy(sync)
	if err != nil {
		return err
	}
	a.buffer, err = buffer.Open(ctx, buffer.Options{
		Dir: dir, Sync: policy, Instance: "pod-1", Width: 5 * time.Minute,
		FlushSize: 8 << 10, FlushInterval: 200 * time.Millisecond, Log: log,
	})
	if err != nil {
		return err
	}
	for g := range senders {
		if v, ok := a.buffer.Position(input(g)); ok {
			fmt.Printf("at %d %s\n", g, v)
		}
	}
	var g errgroup.Group
	g.Go(func() error { return upload.New(upload.Options{Buffer: a.buffer, Store: st, Log: log}).Run(ctx) })
	if drain {
		a.buffer.Drain(ctx)
		if err := g.Wait(); err != nil {
			return err
		}
		return a.buffer.Close()
	}
	for sender := range senders {
		g.Go(func() error { return a.send(ctx, sender) })
	}
	return g.Wait()
}

func policy(text string) (buffer.Sync, error) {
	switch text {
	case "always":
		return buffer.SyncAlways, nil
	case "never":
		return buffer.SyncNever, nil
	}
	d, err := time.ParseDuration(text)
	return buffer.Sync(d), err
}

func input(sender int) string { return "sender:" + strconv.Itoa(sender) }

// send appends chunk after chunk, the next when the one before is acknowledged.
func (a *acknowledger) send(ctx context.Context, sender int) error {
	base := time.Date(2024, 2, 28, 22, 0, 0, 0, time.UTC)
	pace := time.NewTicker(2 * time.Millisecond)
	defer pace.Stop()
	for chunk := 0; ; chunk++ {
		<-pace.C
		at := base.Add(time.Duration(a.run)*time.Minute + time.Duration(chunk)*700*time.Millisecond)
		records := make([]record.Record, 1+rand.IntN(20))
		for i := range records {
			records[i] = record.Record{
				Time: at.UnixNano(), Source: input(sender),
				Message: fmt.Appendf(nil, "run=%d sender=%d chunk=%d line=%d", a.run, sender, chunk, i),
			}
			if i%3 > 0 { // the test derives them from the message
				records[i].Attributes = fmt.Appendf(nil, `{"chunk":%d,"line":"%d\n","resource":{"run":%d}}`, chunk, i, a.run)
			}
		}
		mark, err := a.buffer.Append(ctx, buffer.Chunk{
			Service: "crash", Records: records,
			Positions: []buffer.Position{{Input: input(sender), Value: fmt.Appendf(nil, "%d", position(a.run, chunk))}},
		})
		if err != nil {
			return err
		}
		if err := a.buffer.Synced(ctx, mark); err != nil {
			return err
		}
		fmt.Printf("ack %d %d %d\n", sender, chunk, len(records))
	}
}

// position numbers chunks through all runs.
func position(run, chunk int) int { return run*1_000_000 + chunk }
