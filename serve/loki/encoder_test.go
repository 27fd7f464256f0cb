package loki_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"logstow/logql/engine"
	"logstow/query"
	"logstow/serve/loki"
)

// A response has the warnings of a value where Loki has them; without any it has no such member.
func TestWarnings(t *testing.T) {
	t.Parallel()
	for _, want := range [][]string{nil, {`estimates "within" 1%`, "another"}} {
		var out bytes.Buffer
		v := &engine.Value{Series: []engine.Series{{Points: []engine.Point{{Time: 1e9, Value: 2}}}}, Warnings: want}
		if err := loki.NewEncoder(&out).Value(v, false, &query.Report{}); err != nil {
			t.Fatal(err)
		}
		var got struct {
			Status   string
			Warnings []string
			Data     struct{ Result []json.RawMessage }
		}
		if err := json.Unmarshal(out.Bytes(), &got); err != nil {
			t.Fatalf("%s: %v", out.Bytes(), err)
		}
		if got.Status != "success" || !slices.Equal(got.Warnings, want) || len(got.Data.Result) != 1 || bytes.Contains(out.Bytes(), []byte("warnings")) != (want != nil) {
			t.Errorf("%s", out.Bytes())
		}
	}
}
