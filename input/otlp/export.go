package otlp

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync"

	collector1 "go.opentelemetry.io/proto/slim/otlp/collector/logs/v1"

	"logstow/input/httpserver"
)

// export takes an ExportLogsServiceRequest: after nil all that it holds is
// durable, but for the records that the answer counts as rejected.
func (h *Handler) export(ctx context.Context, request []byte, lease *httpserver.Lease) (*collector1.ExportLogsServiceResponse, error) {
	c, err := h.collect(request, lease)
	if err != nil {
		return nil, err
	}
	if err := h.receive(ctx, request, c.batches); err != nil {
		return nil, err
	}
	answer := new(collector1.ExportLogsServiceResponse)
	if c.rejected > 0 {
		h.opts.Log.Warn("OpenTelemetry records rejected: values nested too deeply", "records", c.rejected, "limit", maxDepth)
		answer.PartialSuccess = &collector1.ExportLogsPartialSuccess{
			RejectedLogRecords: c.rejected,
			ErrorMessage:       fmt.Sprintf("values may be nested %d deep", maxDepth),
		}
	}
	return answer, nil
}

// receive hands over the batches, each in one piece. A request that was taken in
// part goes on where it stopped when the same bytes come again, as they do in a retry.
func (h *Handler) receive(ctx context.Context, request []byte, batches []batch) error {
	var id [sha256.Size]byte
	done := 0
	if len(batches) > 1 {
		id = sha256.Sum256(request)
		done = h.resumed.take(id)
	}
	for i := min(done, len(batches)); i < len(batches); i++ {
		if err := h.receiver.Receive(ctx, batches[i].service, batches[i].events); err != nil {
			if i > 0 {
				h.resumed.put(id, i)
			}
			return err
		}
	}
	return nil
}

// maxPartialRequests is how many requests that were taken in part are remembered.
const maxPartialRequests = 1024

// partialRequests remembers how many batches of a request were taken. The zero value is ready.
type partialRequests struct {
	mu    sync.Mutex
	done  map[[sha256.Size]byte]int
	order [][sha256.Size]byte
}

// take forgets a request and says how far it came.
func (r *partialRequests) take(id [sha256.Size]byte) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.done[id]
	delete(r.done, id)
	return n
}

func (r *partialRequests) put(id [sha256.Size]byte, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.done == nil {
		r.done = map[[sha256.Size]byte]int{}
	}
	if len(r.order) == maxPartialRequests {
		delete(r.done, r.order[0])
		r.order = r.order[1:]
	}
	r.done[id] = n
	r.order = append(r.order, id)
}
