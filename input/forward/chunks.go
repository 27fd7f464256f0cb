package forward

import (
	"context"
	"crypto/sha256"
	"sync"

	"logstow/buffer"
)

// maxRecentChunks is how many of the last chunks are remembered for deduplication.
const maxRecentChunks = 1024

// recentChunks are the last messages that requested an acknowledgement. A sender that missed one
// sends the same bytes again: its events that were already accepted are not accepted twice. Safe
// for concurrent use.
type recentChunks struct {
	mu   sync.Mutex
	all  map[[sha256.Size]byte]*chunk
	ring [][sha256.Size]byte
	next int
}

// chunk is the state of one message.
type chunk struct {
	// turn holds a token while a connection processes the chunk.
	turn chan struct{}
	// taken is how many of its events the sink has, up to lsn; only for the holder of turn.
	taken int
	lsn   buffer.LSN
}

func newChunks() *recentChunks { return &recentChunks{all: make(map[[sha256.Size]byte]*chunk)} }

// begin returns what is known of a message when no other connection works on it;
// an error is one of ctx. end must be called.
func (c *recentChunks) begin(ctx context.Context, message []byte) (*chunk, error) {
	known := c.find(sha256.Sum256(message))
	select {
	case known.turn <- struct{}{}:
		return known, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (c *recentChunks) find(key [sha256.Size]byte) *chunk {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, ok := c.all[key]; ok {
		return known
	}
	if len(c.ring) < maxRecentChunks {
		c.ring = append(c.ring, key)
	} else {
		delete(c.all, c.ring[c.next])
		c.ring[c.next] = key
		c.next = (c.next + 1) % maxRecentChunks
	}
	known := &chunk{turn: make(chan struct{}, 1)}
	c.all[key] = known
	return known
}

func (c *chunk) end() { <-c.turn }
