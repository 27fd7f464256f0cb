package loki

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"logstow/logql/engine"
	"logstow/logql/labels"
	"logstow/message"
)

// streams collects the records of a log query by stream, because in the response the labels of a stream precede its records. It
// holds the records encoded.
type streams struct {
	categorize bool
	repeats    *repeats
	limit      int64 // bytes; 0 is no limit
	size       int64 // bytes collected
	entries    int   // records collected
	index      labels.Index[*stream]
	last       *stream // of the last record, whose labels are lastLabels
	lastLabels [3]labels.Labels
}

// stream holds the records with equal labels. values are the JSON elements of records, each with a comma after it.
type stream struct {
	labels labels.Labels
	values []byte
}

func newStreams(categorize bool, limit int64) *streams {
	return &streams{categorize: categorize, limit: limit}
}

// add adds a record.
func (s *streams) add(e *engine.Entry) error {
	to := s.of(e)
	before := len(to.values)
	dst := append(to.values, `["`...)
	dst = strconv.AppendInt(dst, e.Time, 10)
	dst = append(dst, `",`...)
	dst = message.AppendString(dst, e.Line)
	if s.categorize {
		dst = append(dst, ",{"...)
		metadata := e.Metadata
		if len(e.Fields) > 0 {
			metadata = labels.New(slices.Concat(e.Metadata, e.Fields)...)
		}
		if len(metadata) > 0 {
			dst = metadata.AppendJSON(append(dst, `"structuredMetadata":`...))
		}
		if len(e.Parsed) > 0 {
			if len(metadata) > 0 {
				dst = append(dst, ',')
			}
			dst = e.Parsed.AppendJSON(append(dst, `"parsed":`...))
		}
		comma := ","
		if len(metadata) == 0 && len(e.Parsed) == 0 {
			comma = ""
		}
		if e.Text && s.repeats != nil {
			dst = append(append(dst, comma...), `"text":true`...)
			comma = ","
		}
		dst = append(s.repeats.append(dst, comma, e), '}')
	}
	to.values = append(dst, "],"...)
	s.entries++
	s.size += int64(len(to.values) - before)
	if s.limit > 0 && s.size > s.limit {
		return fmt.Errorf("%w: the records found take more than %d bytes; use a smaller limit or a narrower query",
			engine.ErrLimit, s.limit)
	}
	return nil
}

// of returns the stream of a record.
func (s *streams) of(e *engine.Entry) *stream {
	now := [3]labels.Labels{e.Stream, e.Metadata, e.Parsed}
	if s.last != nil && identical(now[0], s.lastLabels[0]) &&
		(s.categorize || identical(now[1], s.lastLabels[1]) && identical(now[2], s.lastLabels[2])) {
		return s.last
	}
	ls := e.Stream
	if !s.categorize {
		ls = labels.Join(e.Stream, e.Metadata, e.Parsed)
	}
	s.last, s.lastLabels = s.index.Of(ls, func() *stream {
		for _, l := range ls {
			s.size += int64(len(l.Name) + len(l.Value))
		}
		return &stream{labels: ls}
	}), now
	return s.last
}

// identical reports whether two label sets are the same slice.
func identical(a, b labels.Labels) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// write writes the array of streams, in the order of their labels.
func (s *streams) write(w writer) {
	slices.SortFunc(s.index.All, func(a, b *stream) int { return labels.Compare(a.labels, b.labels) })
	w.text("[")
	for i, one := range s.index.All {
		if i > 0 {
			w.text(",")
		}
		w.text(`{"stream":`)
		w.bytes(one.labels.AppendJSON(nil))
		w.text(`,"values":[`)
		w.bytes(one.values[:len(one.values)-1])
		w.text("]}")
	}
	w.text("]")
}

// writeFlags writes the JSON member with the encoding flags, if there are any.
func (s *streams) writeFlags(w writer) {
	if s.categorize {
		w.text(`"encodingFlags":["` + categorizeLabels + `"],`)
	}
}

// respond writes the response to a request.
func (s *streams) respond(q *request) error {
	stats, err := json.Marshal(q.stats(s.entries))
	if err != nil {
		return err
	}
	return q.respond(func(w writer) { s.answer(w, stats) })
}

// answer writes the body of the response. Clients that decode while they read need resultType and encodingFlags before result.
func (s *streams) answer(w writer, stats []byte) {
	w.text(`{"status":"success","data":{"resultType":"streams",`)
	s.writeFlags(w)
	w.text(`"result":`)
	s.write(w)
	w.stats(stats)
}
