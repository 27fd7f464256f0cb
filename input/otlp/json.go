package otlp

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"

	collector1 "go.opentelemetry.io/proto/slim/otlp/collector/logs/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"logstow/input/httpserver"
)

// messageCost is the approximate memory of the messages made from one JSON object.
const messageCost = 192

// fromJSON converts a request in OTLP's JSON to protobuf.
func fromJSON(body []byte, lease *httpserver.Lease) ([]byte, error) {
	if err := lease.Take(int64(bytes.Count(body, []byte{'{'}))*messageCost + int64(len(body))); err != nil {
		return nil, err
	}
	var request collector1.ExportLogsServiceRequest
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true, RecursionLimit: 1000}).Unmarshal(body, &request); err != nil {
		return nil, fmt.Errorf("%w: %w", httpserver.ErrBody, err)
	}
	for _, r := range request.GetResourceLogs() {
		for _, s := range r.GetScopeLogs() {
			for _, l := range s.GetLogRecords() {
				var err error
				if l.TraceId, err = fromHex(l.GetTraceId()); err != nil {
					return nil, err
				}
				if l.SpanId, err = fromHex(l.GetSpanId()); err != nil {
					return nil, err
				}
			}
		}
	}
	encoded, err := proto.Marshal(&request)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", httpserver.ErrBody, err)
	}
	return encoded, nil
}

// fromHex returns an ID that OTLP's JSON contains in hexadecimal, but that was decoded as base64 according to
// protobuf's JSON.
func fromHex(read []byte) ([]byte, error) {
	written := base64.RawStdEncoding.EncodeToString(read)
	id, err := hex.DecodeString(written)
	if err != nil {
		return nil, fmt.Errorf("%w: the trace or span id %.40q is not hexadecimal", httpserver.ErrBody, written)
	}
	return id, nil
}
