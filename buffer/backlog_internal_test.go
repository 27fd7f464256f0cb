package buffer

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"logstow/record"
)

// A backlog of batches on disk is bounded with Once, as each takes some memory: Append waits for deliveries.
func TestOnceBoundsBacklog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		const limit = 20
		b, err := Open(t.Context(), Options{Instance: "i", Dir: dir, Sync: SyncNever, Memory: 20 << 10, FlushInterval: -1, Once: true, maxWaiting: limit})
		if err != nil {
			t.Fatal(err)
		}
		noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		appended := 0
		go func() {
			for {
				at := noon.Add(-time.Duration(appended) * time.Hour).UnixNano()
				c := Chunk{Service: "web", Records: []record.Record{{Time: at, Source: "s", Message: []byte("line")}}}
				if _, err := b.Append(ctx, c); err != nil {
					done <- err
					return
				}
				appended++
			}
		}()
		synctest.Wait()
		before := appended
		if s := b.Stats(); s.Waiting != limit || s.Open == 0 {
			t.Errorf("%+v, want %d waiting batches and some open", s, limit)
		}
		batch, err := b.Next(t.Context())
		if err == nil {
			err = batch.Done()
		}
		synctest.Wait()
		if err != nil || appended == before {
			t.Errorf("%v, %d records are appended, %d were before a delivery", err, appended, before)
		}
		cancel()
		<-done
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
}
