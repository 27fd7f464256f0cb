package buffer

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"

	"logstow/buffer/wal"
)

// idPosition is the name of the position that has the ID of a buffer.
const idPosition = "buffer/id"

// ID returns 32 hexadecimal digits that identify the buffer, durably: drawn at random when it is first called, and again if the
// positions are lost. With a relay, a sender's segments are numbered per ID, and a segment is bound to the ID of the relay's buffer.
func (b *Buffer) ID(ctx context.Context) (string, error) {
	b.idMu.Lock()
	defer b.idMu.Unlock()
	if err := b.waitReplayed(ctx); err != nil {
		return "", fmt.Errorf("cannot read the ID of the buffer: %w", err)
	}
	if id, ok := b.Position(idPosition); ok {
		return string(id), nil
	}
	var random [16]byte
	_, _ = rand.Read(random[:]) // never fails
	id := hex.EncodeToString(random[:])
	positions := []Position{{Input: idPosition, Value: []byte(id)}}
	if b.spool == nil {
		b.commit(positions)
		return id, nil
	}
	_, lsn, err := b.spool.Append(wal.Records{Positions: positions}) // not Append, which has ended in a buffer that is drained
	if err == nil {
		err = b.spool.Sync(lsn)
	}
	if err != nil {
		return "", fmt.Errorf("cannot give the buffer an ID: %w", err)
	}
	return id, nil
}

// OldestSeq returns a lower bound of the Seqs of all batches that are not stored and may be sent to a relay, also of those that will be
// sealed later. Batches that only another relay may have are not included: that one may be away for long.
func (b *Buffer) OldestSeq(relay string) int64 {
	seq := b.batches.OldestSeq() // read first: a batch is put into the queue before it counts as sealed
	if queued, ok := b.queue.OldestSeq(relay); ok {
		seq = min(seq, queued)
	}
	return seq
}
