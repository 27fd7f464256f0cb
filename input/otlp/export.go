package otlp

import (
	"fmt"
	"net/http"

	collector1 "go.opentelemetry.io/proto/slim/otlp/collector/logs/v1"

	"logstow/input/httpserver"
	"logstow/record/attributes"
)

// export processes an ExportLogsServiceRequest. If it returns nil, all records are durable, except for those that
// the response counts as rejected.
func (h *Handler) export(r *http.Request, request []byte, lease *httpserver.Lease) (*collector1.ExportLogsServiceResponse, error) {
	c, err := h.collect(request, lease)
	if err != nil {
		return nil, err
	}
	if err := h.StoreParts(r, request, c.batches.All()); err != nil {
		return nil, err
	}
	answer := new(collector1.ExportLogsServiceResponse)
	if c.rejected > 0 {
		h.Log.Warn("OpenTelemetry records rejected: values nested too deeply", "records", c.rejected, "limit", attributes.MaxDepth)
		answer.PartialSuccess = &collector1.ExportLogsPartialSuccess{
			RejectedLogRecords: c.rejected,
			ErrorMessage:       fmt.Sprintf("attributes may be nested %d deep, bodies %d", attributes.MaxDepth, maxDepth),
		}
	}
	return answer, nil
}
