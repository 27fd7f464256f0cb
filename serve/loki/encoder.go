package loki

import (
	"bufio"
	"encoding/json"
	"io"
	"time"

	"logstow/logql/engine"
	"logstow/query"
)

// Encoder writes the answer to a query as the API does, for other programs than its clients. Records are held in memory until
// they are written.
type Encoder struct {
	w       io.Writer
	began   time.Time
	streams *streams
}

// NewEncoder makes an encoder that writes to w. Statistics count the time from now on.
func NewEncoder(w io.Writer) *Encoder {
	return &Encoder{w: w, began: time.Now(), streams: newStreams(false, 0)}
}

// Entry adds a record to the answer to a log query.
func (e *Encoder) Entry(entry *engine.Entry) error { return e.streams.add(entry) }

// Streams writes the answer to a log query: the records that were added. report has what was read.
func (e *Encoder) Streams(report *query.Report) error {
	return e.write(report, e.streams.entries, e.streams.answer)
}

// Value writes the answer to a metric query: over a range, or at one time.
func (e *Encoder) Value(v *engine.Value, ranged bool, report *query.Report) error {
	return e.write(report, len(v.Series), func(w writer, stats []byte) { w.allSeries(kindOf(v, ranged), v.Series, stats) })
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
