package storage_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"logstow/blobnaming"
	"logstow/columns"
	"logstow/compaction"
	"logstow/logql/engine"
	"logstow/logql/labels"
	"logstow/logql/pipeline"
	"logstow/logql/storage"
	"logstow/logql/syntax"
	fields "logstow/message/parse"
	"logstow/query"
	"logstow/record"
	"logstow/record/attributes"
	"logstow/segment"
	"logstow/store"
	"logstow/store/open"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// origin is the first hour of the worlds.
func origin() time.Time { return time.Date(2024, 5, 6, 22, 0, 0, 0, time.UTC) }

// written is a record as it was shipped.
type written struct {
	record.Record
	service, instance string
}

// world is a store in a directory, and what is in it.
type world struct {
	t       testing.TB
	store   store.Store
	rnd     *rand.Rand
	all     []*written // in the order of time; no time is twice
	number  uint64
	parts   []store.Blob
	reading query.Store
	now     time.Time
	// larger is set if blocks are large enough for numbers in planes.
	larger bool
	// columnar is set if all segments have columns, otherwise some have.
	columnar bool
	// parse is the parser of segments, as footers have it.
	parse string
	// labelled is set if records have attributes.
	labelled bool
}

func newWorld(t testing.TB, rnd *rand.Rand) *world {
	t.Helper()
	s, err := open.Store(t.Context(), filepath.Join(t.TempDir(), "store"), open.Options{Getenv: os.Getenv})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	w := &world{t: t, store: s, rnd: rnd, reading: query.ReadOnly(s), now: origin().Add(24 * time.Hour)}
	w.reading.Free = true
	return w
}

// ship stores records, which are of one hour, as a segment.
func (w *world) ship(service, instance string, records ...record.Record) store.Blob {
	w.t.Helper()
	w.number++
	hour := time.Unix(0, records[0].Time).UTC().Truncate(time.Hour)
	var body bytes.Buffer
	options := segment.Options{
		Service: service, Instance: instance, Salt: [16]byte{byte(w.number), byte(w.number >> 8), 1},
		BlockSize: 500 + w.rnd.IntN(1500), BucketStart: hour.Unix(), BucketWidth: 3600, Parse: w.parse,
	}
	if w.larger {
		options.BlockSize *= 10
	}
	if w.columnar || w.rnd.IntN(2) == 0 {
		options.Columns = &columns.Options{Share: 10}
	}
	sw := segment.NewWriter(&body, options)
	for _, r := range records {
		if err := sw.Append(r); err != nil {
			w.t.Fatal(err)
		}
		r.Source, r.Message = record.CleanSource(r.Source), slices.Clone(r.Message)
		w.all = append(w.all, &written{r, service, instance})
	}
	slices.SortFunc(w.all, func(a, b *written) int { return cmp.Compare(a.Time, b.Time) })
	meta, err := sw.Close(int64(w.number))
	if err != nil {
		w.t.Fatal(err)
	}
	name := blobnaming.Name{Service: service, Bucket: hour, Number: w.number}
	etag, err := w.store.Blobs().Create(w.t.Context(), name.String(), body.Bytes(), store.CreateOptions{Metadata: meta.Encode()})
	if err != nil {
		w.t.Fatal(err)
	}
	part := store.Blob{Name: name.String(), Size: int64(body.Len()), ETag: etag}
	w.parts = append(w.parts, part)
	return part
}

// fill ships random records of some hours, in segments of up to size records.
func (w *world) fill(segments, size int) {
	w.t.Helper()
	used := map[int64]bool{}
	for _, r := range w.all {
		used[r.Time] = true
	}
	for range segments {
		hour := origin().Add(time.Duration(w.rnd.IntN(4)) * time.Hour) // over midnight
		records := make([]record.Record, 1+w.rnd.IntN(size))
		for i := range records {
			at := hour.Add(time.Duration(w.rnd.Int64N(int64(time.Hour))))
			if w.rnd.IntN(3) == 0 {
				at = at.Truncate(time.Second)
			}
			for used[at.UnixNano()] {
				at = hour.Add(time.Duration(w.rnd.Int64N(int64(time.Hour))))
			}
			used[at.UnixNano()] = true
			records[i] = record.Record{
				Time: at.UnixNano(), Level: record.Level(w.rnd.IntN(record.Levels)), Source: pick(w.rnd, sources()), Message: []byte(randomMessage(w.rnd)),
			}
			if w.labelled {
				records[i].Attributes = randomLabels(w.rnd)
			}
		}
		w.ship(pick(w.rnd, services()), pick(w.rnd, instances()), records...)
	}
}

func pick[T any](rnd *rand.Rand, of []T) T { return of[rnd.IntN(len(of))] }

func services() []string  { return []string{"api", "web", "db-1"} }
func instances() []string { return []string{"a-0", "a-1", "b"} }
func sources() []string {
	return []string{"", "app.log", "ü/ñ", "\xff\xfe", `q"uo,te`, "a b", "x=1|2", "*", "null", "7"}
}

// words are parts of messages: identifiers that token filters have, escapes, bytes that are no UTF-8.
func words() []string {
	return []string{"error", "timeout", "502", "req-1234567", "a1b2c3d4e5f6", "A1B2C3D4", "10.1.2.3", "größe", "\xff\xfe", "x/y", `back\slash`, "it's", "<b>&amp;", "k", "1234567", "nabcdef", "\t"}
}

// randomMessage is a random message: JSON, logfmt or text, sometimes of several lines.
func randomMessage(rnd *rand.Rand) string {
	word := func() string { return pick(rnd, words()) }
	switch rnd.IntN(8) {
	case 0, 1, 2:
		var b strings.Builder
		fmt.Fprintf(&b, `{"msg":%s,"status":%d`, escaped(rnd, word()+" "+word()), 200+rnd.IntN(400))
		for _, name := range []string{"user", "level", "source", "id"} {
			if rnd.IntN(2) == 0 {
				fmt.Fprintf(&b, `,"%s":%s`, name, escaped(rnd, word()))
			}
		}
		fmt.Fprintf(&b, `,"o":{"x":%s}}`, escaped(rnd, word()))
		return b.String()
	case 3, 4:
		return fmt.Sprintf("msg=%q user=%s status=%d id=%q", word()+" "+word(), strings.Trim(word(), "\t"), 200+rnd.IntN(400), word())
	case 5:
		return word() + "\n" + word() + "\n\n\t" + word()
	case 6:
		return fmt.Sprintf("%s - %s [%d] \x1b[31m%s\x1b[0m", word(), word(), rnd.IntN(5), word())
	}
	return strings.Repeat(word()+" ", rnd.IntN(4))
}

// escaped is a JSON string, with some characters written as escapes.
func escaped(rnd *rand.Rand, text string) string {
	b := []byte{'"'}
	for _, c := range []byte(text) {
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c == '\t':
			b = append(b, `\t`...)
		case c == '/' && rnd.IntN(2) == 0:
			b = append(b, `\/`...)
		case c < 0x80 && rnd.IntN(20) == 0:
			b = fmt.Appendf(b, `\u%04x`, c)
		default:
			b = append(b, c)
		}
	}
	return string(append(b, '"'))
}

// randomLabels are attributes of which some are labels; often none.
func randomLabels(rnd *rand.Rand) []byte {
	value := func() []byte { return attributes.AppendText(nil, pick(rnd, []string{"p1", "p2", "p3", `"`, "é"})) }
	members := func(names ...string) (some []attributes.Member) {
		for _, name := range names {
			if rnd.IntN(2) == 0 {
				some = append(some, attributes.Member{Name: name, Value: value()})
			}
		}
		return some
	}
	var s attributes.Set
	switch rnd.IntN(4) {
	case 0:
		return nil
	case 1:
		s.Stream = attributes.NewGroup(members("team", "k8s.pod.name", "k8s_pod_name", "level", "source"))
	}
	if rnd.IntN(2) == 0 {
		s.Resource = attributes.NewGroup(members("k8s.pod.name", "k8s.namespace.name", "service.name", "process.pid"))
	}
	s.Own = members("k8s.pod.name", "trace_id", "team")
	text, _ := s.Append(nil)
	return text
}

// compact merges the segments that are there. Named fields have columns with many values.
func (w *world) compact(named ...string) {
	w.t.Helper()
	o := compaction.DefaultOptions()
	o.Columns.Named = named
	o.From, o.To, o.MaxAge = origin().Add(-time.Hour), origin().Add(24*time.Hour), time.Since(origin())+48*time.Hour
	o.After, o.Grace, o.Limits.LateAge, o.TempDir = 0, 0, 0, w.t.TempDir()
	if report, err := compaction.Run(w.t.Context(), w.store, o); err != nil {
		w.t.Fatal(err, report)
	}
}

func (w *world) clock() time.Time { return w.now }

// view is a request over the store.
func (w *world) view(a storage.Access) *storage.View {
	return storage.New([]query.Store{w.reading}, query.Options{}, w.clock).View(a)
}

// labels are those of a record before the first stage.
func (r *written) labels() labels.Labels {
	level := strings.ToLower(r.Level.String())
	if r.Level == record.None {
		level = "unknown"
	}
	all := []labels.Label{
		{Name: labels.Service, Value: r.service},
		{Name: labels.Instance, Value: r.instance},
		{Name: labels.Level, Value: level},
		{Name: labels.DetectedLevel, Value: level},
		{Name: labels.Source, Value: r.Source},
	}
	byName := map[string]string{}
	for _, name := range []string{"k8s.pod.name", "k8s.namespace.name"} {
		byName[name] = r.attributes(attributes.Resource)[name]
	}
	for _, name := range []string{"k8s.pod.name", "k8s_pod_name", "team"} {
		if value := r.attributes(attributes.Stream)[name]; value != "" {
			byName[name] = value
		}
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		all = append(all, labels.Label{Name: strings.ReplaceAll(name, ".", "_"), Value: byName[name]})
	}
	return labels.New(all...)
}

// attributes are those of a group of a record, by name; "" is the record's own.
func (r *written) attributes(group string) map[string]string {
	var all map[string]any
	if err := json.Unmarshal(r.Attributes, &all); err != nil {
		return nil
	}
	if group != "" {
		all, _ = all[group].(map[string]any)
	}
	found := map[string]string{}
	for name, v := range all {
		if text, ok := v.(string); ok {
			found[name] = text
		}
	}
	return found
}

// attribute is the value of the attribute with a label: a label of the stream, or the first other one.
func (r *written) attribute(label string) string {
	if value := r.labels().Get(label); value != "" {
		return value
	}
	for _, group := range []string{"", attributes.Stream, attributes.Resource} {
		found := r.attributes(group)
		for _, name := range slices.Sorted(maps.Keys(found)) {
			if strings.ReplaceAll(name, ".", "_") == label {
				return found[name]
			}
		}
	}
	return ""
}

// selectedBy reports whether matchers match a record.
func (r *written) selectedBy(matchers []*syntax.Matcher) bool {
	for _, m := range matchers {
		name := m.Name
		if name == "service" {
			name = labels.Service
		}
		value := r.attribute(name)
		matches := value == m.Value
		if m.Regexp != nil {
			matches = m.Regexp.MatchString(value)
		}
		if matches != (m.Op == syntax.MatchEqual || m.Op == syntax.MatchRegexp) {
			return false
		}
	}
	return true
}

// plain is a source that applies selectors only.
type plain struct {
	all     []*written
	streams map[string]*pipeline.Stream
}

func (p *plain) Applied(*syntax.LogExpr) int { return 0 }

func (p *plain) InOrder(_ context.Context, sel engine.Selection, emit func(*engine.Record) error) error {
	all := slices.Clone(p.all)
	if sel.Newest {
		slices.Reverse(all)
	}
	for _, r := range all {
		if r.Time < sel.From || r.Time >= sel.To || !r.selectedBy(sel.Log.Matchers) {
			continue
		}
		ls := r.labels()
		s := p.streams[ls.String()]
		if s == nil {
			names := []string{labels.DetectedLevel, labels.Source}
			s = &pipeline.Stream{Labels: ls.Without(names...), Metadata: ls.Keep(names...), Parser: fields.Auto()}
			p.streams[ls.String()] = s
		}
		if err := emit(&engine.Record{Time: r.Time, Attributes: r.Attributes, Line: r.Message, Stream: s}); err != nil {
			return err
		}
	}
	return nil
}

func (p *plain) Each(ctx context.Context, sel engine.Selection, _ func(), newWorker func() engine.Worker) error {
	return p.InOrder(ctx, sel, newWorker().Add)
}

func (p *plain) Counts(context.Context, engine.Selection, []string, bool, time.Duration, func(labels.Labels, int64, uint64) error) (bool, error) {
	return false, nil
}

// reference is an engine over the records in memory.
func (w *world) reference() *engine.Engine {
	return &engine.Engine{Source: &plain{w.all, map[string]*pipeline.Stream{}}}
}

// over is the error of a query's text, or its expression.
func parse(t testing.TB, text string) *syntax.LogExpr {
	t.Helper()
	expr, err := syntax.Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return expr.(*syntax.LogExpr)
}

// answer is the result of a log query, a line a record.
func answer(ctx context.Context, source engine.Source, log *syntax.LogExpr, p engine.LogParams) (lines []string, err error) {
	lines = []string{}
	err = (&engine.Engine{Source: source}).Logs(ctx, log, p, func(e *engine.Entry) error {
		lines = append(lines, fmt.Sprintf("%d %q %s %s %s", e.Time, e.Line, e.Stream, e.Metadata, e.Parsed.Without(labels.ErrorDetails)))
		return nil
	})
	return lines, err
}

// selectors are the matchers of queries.
func selectors(t testing.TB, texts ...string) (all [][]*syntax.Matcher) {
	for _, text := range texts {
		all = append(all, parse(t, text).Matchers)
	}
	return all
}

// streamInfo is a stream of [storage.View.Parts], volume the bytes of one in an interval.
type streamInfo struct {
	Labels           labels.Labels
	Records          uint64
	Bytes            int64
	Segments         int
	records, inBytes float64
}

type volume struct {
	Labels labels.Labels
	Start  int64
	Bytes  int64
}

// streamsOf sums the parts of a range by stream, in order of labels.
func streamsOf(ctx context.Context, v *storage.View, selectors [][]*syntax.Matcher, from, to int64) ([]streamInfo, error) {
	found := map[string]*streamInfo{}
	err := v.Parts(ctx, selectors, from, to, 0, func(p storage.Part) {
		s := found[p.Labels.String()]
		if s == nil {
			s = &streamInfo{Labels: p.Labels}
			found[p.Labels.String()] = s
		}
		s.Segments++
		s.records += p.Records
		s.inBytes += p.Bytes
	})
	all := []streamInfo{}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		s := found[name]
		s.Records, s.Bytes = uint64(math.Ceil(s.records)), int64(math.Ceil(s.inBytes))
		all = append(all, *s)
	}
	return all, err
}

// volumesOf sums the parts of a range by stream and interval.
func volumesOf(ctx context.Context, v *storage.View, matchers []*syntax.Matcher, from, to int64, width time.Duration) ([]volume, error) {
	type cell struct {
		of    string
		start int64
	}
	found, sums := map[cell]volume{}, map[cell]float64{}
	err := v.Parts(ctx, [][]*syntax.Matcher{matchers}, from, to, width, func(p storage.Part) {
		c := cell{p.Labels.String(), p.Start}
		sums[c] += p.Bytes
		found[c] = volume{Labels: p.Labels, Start: p.Start}
	})
	all := []volume{}
	for c, v := range found {
		if v.Bytes = int64(math.Ceil(sums[c])); v.Bytes > 0 {
			all = append(all, v)
		}
	}
	slices.SortFunc(all, func(a, b volume) int {
		return cmp.Or(labels.Compare(a.Labels, b.Labels), cmp.Compare(a.Start, b.Start))
	})
	return all, err
}
