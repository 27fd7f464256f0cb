package otlp

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync"

	collector1 "go.opentelemetry.io/proto/slim/otlp/collector/logs/v1"

	"logstow/input/httpserver"
)

// export processes an ExportLogsServiceRequest: after nil all of it is durable, except for the
// records that the response counts as rejected.
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

// receive passes on the batches, each as a whole. A partially accepted request continues where it
// stopped when the same bytes come again, as in a retry.
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

// maxPartialRequests is how many partially accepted requests are remembered.
const maxPartialRequests = 1024

// partialRequests remembers how many batches of a request were accepted. The zero value is ready to
// use.
type partialRequests struct {
	mu    sync.Mutex
	done  map[[sha256.Size]byte]int
	order [][sha256.Size]byte
}

// take removes a request and returns its progress.
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
