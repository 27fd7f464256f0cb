package loki

import (
	"bufio"
	"encoding/json"
	"io"
	"time"

	"logstow/logql/engine"
	"logstow/query"
)

// Encoder writes the response to a query in the API's format, for programs other than the server. It holds records in memory until
// it writes them.
type Encoder struct {
	w       io.Writer
	began   time.Time
	streams *streams
}

// NewEncoder returns an encoder that writes to w. The duration in the statistics begins now.
func NewEncoder(w io.Writer) *Encoder {
	return &Encoder{w: w, began: time.Now(), streams: newStreams(false, 0)}
}

// Entry adds a record to the response to a log query.
func (e *Encoder) Entry(entry *engine.Entry) error { return e.streams.add(entry) }

// Streams writes the response to a log query: the records that were added, and statistics from a report.
func (e *Encoder) Streams(report *query.Report) error {
	return e.write(report, e.streams.entries, e.streams.answer)
}

// Value writes the response to a metric query, over a range if ranged is set, otherwise at one time.
func (e *Encoder) Value(v *engine.Value, ranged bool, report *query.Report) error {
	return e.write(report, len(v.Series), func(w writer, stats []byte) { w.allSeries(kindOf(v, ranged), v, stats) })
}

func (e *Encoder) write(report *query.Report, entries int, answer func(writer, []byte)) error {
	stats, err := json.Marshal(newStats(report, time.Since(e.began), entries))
	if err != nil {
		return err
	}
	w := writer{bufio.NewWriter(e.w)}
	answer(w, stats)
	return w.to.Flush()
}
