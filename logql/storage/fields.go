package storage

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"logstow/internal/units"
	"logstow/logql/engine"
	"logstow/logql/labels"
	"logstow/logql/pipeline"
	"logstow/logql/syntax"
	"logstow/message"
)

const (
	// maxFieldValues is the number of different values of a field that are counted.
	maxFieldValues = 10_000
	// maxFieldBytes is the number of bytes of names and values that are kept; others are not counted.
	maxFieldBytes = 32 << 20
)

// Field is a field found in messages.
type Field struct {
	// Label is its name as a label, Path the keys that lead to it in JSON, nil for other formats.
	Label string
	Path  []string
	// Type is string, int, float, boolean, duration or bytes, and applies to all values found. Parser is json or logfmt; ""
	// for labels that need none: structured metadata, labels made by stages of the query, and fields of text.
	Type, Parser string
	// Cardinality is the number of its different values, at most 10,000; Values are the most frequent, in that order.
	Cardinality uint64
	Values      []string
}

// Fields returns the fields and the structured metadata of the newest matches, at most lines of them, in order of names. Messages are
// parsed as json, or as logfmt if they are not JSON, without pairs whose names [message.All] rejects. values is the maximum number of
// values of each field. It keeps about 32 MiB of distinct values and drops others.
func (v *View) Fields(ctx context.Context, log *syntax.LogExpr, from, to int64, lines, values int) ([]Field, error) {
	asJSON, err := pipeline.Compile([]syntax.Stage{&syntax.JSONParser{}}, nil, nil)
	if err != nil {
		return nil, err
	}
	asLogfmt, err := pipeline.Compile([]syntax.Stage{&syntax.LogfmtParser{}}, nil, nil)
	if err != nil {
		return nil, err
	}
	c := &fieldCollector{fields: map[string]*fieldCounts{}, json: asJSON.Processor(), logfmt: asLogfmt.Processor()}
	e := engine.Engine{Source: v}
	err = e.Logs(ctx, log, engine.LogParams{From: from, To: to, Newest: true, Limit: lines, Fields: true}, func(entry *engine.Entry) error {
		c.add(entry)
		return nil
	})
	if err != nil {
		return nil, err
	}
	found := make([]Field, 0, len(c.fields))
	for _, label := range slices.Sorted(maps.Keys(c.fields)) {
		found = append(found, c.fields[label].field(label, values))
	}
	return found, nil
}

// fieldCollector collects the fields of records.
type fieldCollector struct {
	fields       map[string]*fieldCounts
	json, logfmt *pipeline.Processor
	stream       *pipeline.Stream
	bytes        int // of names and values
}

// fieldCounts has the counts of a field.
type fieldCounts struct {
	parser string
	path   []string
	values map[string]int
}

// add adds the fields of a record.
func (c *fieldCollector) add(e *engine.Entry) {
	for _, metadata := range []labels.Labels{e.Metadata, e.Fields} {
		for _, l := range metadata {
			c.count(l, "", nil)
		}
	}
	found := c.parse(e)
	for _, l := range e.Parsed {
		if found.Get(l.Name) == "" {
			c.count(l, "", nil)
		}
	}
}

// parse adds the fields of a record's line, and returns them.
func (c *fieldCollector) parse(e *engine.Entry) labels.Labels {
	if s := c.stream; s == nil || !slices.Equal(s.Labels, e.Stream) || !slices.Equal(s.Metadata, e.Metadata) {
		c.stream = &pipeline.Stream{Labels: e.Stream, Metadata: e.Metadata}
	}
	parser, processor := "json", c.json
	line := bytes.TrimSpace(e.Line)
	if len(line) == 0 || line[0] != '{' {
		parser, processor = "logfmt", c.logfmt
	}
	if !processor.Process(e.Time, nil, e.Line, c.stream) || processor.Get(labels.Error) != "" {
		return nil
	}
	_, _, parsed := processor.Labels()
	if parser == "logfmt" {
		parsed = withoutAccidents(parsed, line)
	}
	var paths map[string][]string
	for _, l := range parsed {
		if e.Fields.Get(l.Name) != "" { // no parser is needed for it
			continue
		}
		if f := c.fields[l.Name]; f == nil && parser == "json" && paths == nil {
			paths = map[string][]string{}
			addPaths(paths, nil, message.Value{Kind: message.Composite, Text: line})
		}
		path := paths[l.Name]
		if path == nil {
			path = paths[strings.TrimSuffix(l.Name, "_extracted")]
		}
		c.count(l, parser, path)
	}
	return parsed
}

// withoutAccidents leaves out labels that logfmt makes of other text, such as /cart?page of "GET /cart?page=2".
func withoutAccidents(parsed labels.Labels, line []byte) labels.Labels {
	names := map[string]bool{}
	if before, _, ok := message.SplitJSON(line); ok { // message.All finds only the members of an object at the end
		line = before
	}
	for name := range message.All(line) {
		names[pipeline.LabelName(name)] = true
	}
	return slices.DeleteFunc(slices.Clone(parsed), func(l labels.Label) bool {
		return !names[l.Name] && !names[strings.TrimSuffix(l.Name, "_extracted")]
	})
}

// count counts a value.
func (c *fieldCollector) count(l labels.Label, parser string, path []string) {
	if strings.HasPrefix(l.Name, "__") {
		return
	}
	f := c.fields[l.Name]
	if f != nil {
		if f.parser == "" { // with the parser, fields of text are found, too
			f.parser, f.path = parser, path
		}
		if n := f.values[l.Value]; n > 0 {
			f.values[l.Value] = n + 1
			return
		}
		if len(f.values) >= maxFieldValues {
			return
		}
	}
	if c.bytes += len(l.Name) + len(l.Value); c.bytes > maxFieldBytes {
		c.bytes -= len(l.Name) + len(l.Value)
		return
	}
	if f == nil {
		f = &fieldCounts{parser: parser, path: path, values: map[string]int{}}
		c.fields[l.Name] = f
	}
	f.values[l.Value] = 1
}

// field is the summary of a field with the most frequent values.
func (f *fieldCounts) field(label string, values int) Field {
	all := slices.SortedFunc(maps.Keys(f.values), func(a, b string) int {
		return cmp.Or(cmp.Compare(f.values[b], f.values[a]), strings.Compare(a, b))
	})
	kind := ""
	for _, value := range all {
		if k := typeOf(value); kind == "" || kind == "int" && k == "float" {
			kind = k
		} else if k != kind && (kind != "float" || k != "int") {
			kind = "string"
			break
		}
	}
	return Field{
		Label:       label,
		Path:        f.path,
		Type:        kind,
		Parser:      f.parser,
		Cardinality: uint64(len(all)),
		Values:      all[:min(values, len(all))],
	}
}

// typeOf is the type of a value.
func typeOf(value string) string {
	if _, err := strconv.ParseInt(value, 10, 64); err == nil {
		return "int"
	}
	if _, err := strconv.ParseFloat(value, 64); err == nil {
		return "float"
	}
	if value == "true" || value == "false" {
		return "boolean"
	}
	if _, err := time.ParseDuration(value); err == nil {
		return "duration"
	}
	if _, err := units.ParseSize(value); err == nil {
		return "bytes"
	}
	return "string"
}

// addPaths adds the paths of the members of a JSON object by their label; around are the names of the objects around it. Of several members
// with a label the first one counts, as for the parser.
func addPaths(paths map[string][]string, around []string, object message.Value) {
	for name, v := range object.Members() {
		path := append(slices.Clone(around), name)
		if v.IsObject() {
			addPaths(paths, path, v)
		} else if label := pipeline.LabelName(strings.Join(path, "_")); paths[label] == nil {
			paths[label] = path
		}
	}
}
