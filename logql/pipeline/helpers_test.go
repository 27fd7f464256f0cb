package pipeline_test

import (
	"testing"

	"logstow/logql/labels"
	"logstow/logql/pipeline"
	"logstow/logql/syntax"
)

const at = 1_714_996_820_123_456_789 // 2024-05-06T12:00:20.123456789Z

func webStream() *pipeline.Stream {
	return &pipeline.Stream{
		Labels:   labels.New(labels.Label{Name: labels.Service, Value: "web"}, labels.Label{Name: labels.Level, Value: "info"}, labels.Label{Name: labels.Instance, Value: "i-1"}),
		Metadata: labels.New(labels.Label{Name: labels.DetectedLevel, Value: "info"}, labels.Label{Name: labels.Source, Value: "stdout"}),
	}
}

// parse is the stages of a query, and its unwrap.
func parse(t testing.TB, stages string) ([]syntax.Stage, *syntax.Unwrap) {
	t.Helper()
	e, err := syntax.Parse(`sum_over_time({a="b"} ` + stages + ` [1m])`)
	if err != nil {
		e, err = syntax.Parse(`{a="b"} ` + stages)
	}
	if err != nil {
		t.Fatalf("%s: %v", stages, err)
	}
	switch e := e.(type) {
	case *syntax.LogExpr:
		return e.Stages, nil
	case *syntax.RangeAggregation:
		return e.Range.Log.Stages, e.Range.Unwrap
	}
	t.Fatalf("%s is no log query", stages)
	return nil, nil
}

func compile(t testing.TB, stages string, needed []string) *pipeline.Pipeline {
	t.Helper()
	parsed, unwrap := parse(t, stages)
	p, err := pipeline.Compile(parsed, unwrap, needed)
	if err != nil {
		t.Fatalf("%s: %v", stages, err)
	}
	return p
}

// result is a record after its last stage: "-" if it is not kept, otherwise its line and the labels that stages made, behind
// those of the stream and metadata where they changed.
func result(p *pipeline.Processor, line string, stream *pipeline.Stream) string {
	if !p.Process(at, nil, []byte(line), stream) {
		return "-"
	}
	s, m, parsed := p.Labels()
	text := string(p.Line()) + " "
	if labels.Compare(s, stream.Labels) != 0 {
		text += "stream" + s.String() + " "
	}
	if labels.Compare(m, stream.Metadata) != 0 {
		text += "metadata" + m.String() + " "
	}
	return text + parsed.Without(labels.ErrorDetails).String()
}
