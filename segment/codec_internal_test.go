package segment

import (
	"runtime"
	"testing"
	"weak"

	"logstow/columns"
)

// The encoders of a Compressor that is no longer used are freed by the next collection,
// though its buffers are in a sync.Pool.
func TestEncodersAreFreed(t *testing.T) {
	t.Parallel()
	encoders := weak.Make(use(NewCompressor()).single)
	runtime.GC()
	if encoders.Value() != nil {
		t.Error("the encoders are retained")
	}
}

// use puts something into each pool of a Compressor.
func use(c *Compressor) *Compressor {
	c.texts.put(make([]byte, DefaultBlockSize))
	c.stored.put(make([]byte, DefaultBlockSize))
	c.collectors.put(c.collectors.get())
	c.scratches.put(new(columns.Scratch))
	return c
}
