package buffer

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"logstow/internal/test/disktest"
	"logstow/record"
)

// lockedLog is a log that may be read while it is written.
type lockedLog struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lockedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// While no file descriptor is free, sealing and delivery wait, which is logged and counted; then they continue. It is
// no error.
func TestNoDescriptors(t *testing.T) {
	t.Parallel()
	for _, errno := range []syscall.Errno{syscall.EMFILE, syscall.ENFILE} {
		dir := t.TempDir() // of the lock
		synctest.Test(t, func(t *testing.T) {
			fs := disktest.New()
			var log lockedLog
			b, err := Open(t.Context(), Options{Instance: "i", Dir: dir, Sync: SyncNever, FlushInterval: -1, fs: fs, Log: slog.New(slog.NewTextHandler(&log, nil))})
			if err != nil {
				t.Fatal(err)
			}
			at := time.Date(2026, 11, 20, 15, 0, 0, 0, time.UTC).UnixNano()
			if _, err := b.Append(t.Context(), Chunk{Service: "web", Read: at, Records: []record.Record{{Time: at, Source: "s", Message: []byte("line")}}}); err != nil {
				t.Fatal(err)
			}
			fs.FailOpen("", errno)
			delivered := make(chan error, 1)
			go func() {
				b.Flush(t.Context())
				batch, err := b.Next(t.Context())
				if err == nil {
					err = batch.Load(t.Context())
				}
				if err == nil {
					err = batch.SetName("store", "name")
				}
				if err == nil {
					err = batch.DoneWithEntity("etag")
				}
				delivered <- err
			}()
			time.Sleep(90 * time.Second)
			select {
			case err := <-delivered:
				t.Errorf("%v: delivered without a descriptor: %v", errno, err)
			default:
			}
			if s := b.Stats(); s.DescriptorWaits == 0 || !s.Full || b.Err() != nil {
				t.Errorf("%v: %+v, %v", errno, s, b.Err())
			}
			fs.FailOpen("", nil)
			if err := <-delivered; err != nil {
				t.Errorf("%v: %v", errno, err)
			}
			if s := b.Stats(); s.Full || s.Done != 1 || s.Unindexed != 1 {
				t.Errorf("%v: %+v", errno, s)
			}
			if n := strings.Count(log.String(), "no file descriptor is free"); n != 2 {
				t.Errorf("%v: logged %d times in 90 s, want once a minute: %s", errno, n, log.String())
			}

			// The end of a drain ends the wait.
			if _, err := b.Append(t.Context(), Chunk{Service: "web", Read: at, Records: []record.Record{{Time: at, Source: "s", Message: []byte("line")}}}); err != nil {
				t.Fatal(err)
			}
			fs.FailOpen("", errno)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			b.Drain(ctx)
			if err := b.Close(); err != nil && !errors.Is(err, errno) {
				t.Errorf("%v: close: %v", errno, err)
			}
		})
	}
}
