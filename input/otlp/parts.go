package otlp

import (
	"time"

	"logstow/input"
	"logstow/input/httpserver"
	"logstow/message/parse"
)

// Parts finds the log records in lines as the file exporter of the Collector writes them: each is a request in OTLP's JSON. The
// service and the source of the events are those of the file.
func Parts(opts input.Options) *input.Parts {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Recognize.Parser == nil {
		opts.Recognize.Parser = parse.Auto()
	}
	handler := &Handler{Intake: &httpserver.Intake{IntakeOptions: httpserver.IntakeOptions{Options: opts}}}
	memory := httpserver.NewMemory(0, nil)
	return &input.Parts{Prefix: `{"resourceLogs":[`, Events: func(line []byte) ([]input.Event, bool) {
		lease := httpserver.NewLease(memory)
		defer lease.Release()
		request, err := fromJSON(line, lease)
		if err != nil {
			return nil, false
		}
		c, err := handler.collect(request, lease)
		if err != nil || c.rejected > 0 || len(c.batches.All()) == 0 {
			return nil, false
		}
		return c.batches.All()[0].Events, true
	}}
}
