package loki

import (
	"encoding/json"
	"strconv"

	"logstow/logql/engine"
)

// The types of results of metric queries.
const (
	typeVector = "vector"
	typeMatrix = "matrix"
	typeScalar = "scalar"
)

// respondSeries responds with the series of a value. Each series of a vector has one point; a scalar is one series of one point.
func (q *request) respondSeries(kind string, v *engine.Value) error {
	stats, err := json.Marshal(q.stats(len(v.Series)))
	if err != nil {
		return err
	}
	return q.respond(func(w writer) { w.allSeries(kind, v, stats) })
}

// allSeries writes the response with the series of a value.
func (w writer) allSeries(kind string, v *engine.Value, stats []byte) {
	w.text(`{"status":"success",`)
	if len(v.Warnings) > 0 {
		warnings, _ := json.Marshal(v.Warnings) // texts
		w.text(`"warnings":`)
		w.bytes(append(warnings, ','))
	}
	w.text(`"data":{"resultType":"` + kind + `","result":`)
	if kind == typeScalar {
		w.bytes(appendPoint(nil, v.Series[0].Points[0]))
	} else {
		w.text("[")
		var scratch []byte
		for i := range v.Series {
			if i > 0 {
				w.text(",")
			}
			scratch = w.series(scratch, kind, &v.Series[i])
		}
		w.text("]")
	}
	w.stats(stats)
}

// stats writes the statistics and the end of a response.
func (w writer) stats(stats []byte) {
	w.text(`,"stats":`)
	w.bytes(stats)
	w.text("}}\n")
}

// series writes a series. It returns scratch for reuse.
func (w writer) series(scratch []byte, kind string, s *engine.Series) []byte {
	scratch = s.Labels.AppendJSON(append(scratch[:0], `{"metric":`...))
	if kind == typeVector {
		scratch = append(appendPoint(append(scratch, `,"value":`...), s.Points[0]), '}')
		w.bytes(scratch)
		return scratch
	}
	w.bytes(append(scratch, `,"values":[`...))
	for i, p := range s.Points {
		scratch = scratch[:0]
		if i > 0 {
			scratch = append(scratch, ',')
		}
		scratch = appendPoint(scratch, p)
		w.bytes(scratch)
	}
	w.text("]}")
	return scratch
}

// appendPoint appends [seconds,"value"]. Values have the shortest form without an exponent; NaN, +Inf, -Inf.
func appendPoint(dst []byte, p engine.Point) []byte {
	dst = appendSeconds(append(dst, '['), p.Time)
	dst = append(dst, `,"`...)
	dst = strconv.AppendFloat(dst, p.Value, 'f', -1, 64)
	return append(dst, `"]`...)
}
