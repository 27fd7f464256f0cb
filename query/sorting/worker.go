package sorting

import (
	"logstow/query/merge"

	"logstow/field"
	"logstow/message/parse"
	"logstow/record"
	"logstow/spill"
)

// worker sorts records. Not safe for concurrent use.
type worker struct {
	*Order
	sorter    *spill.Sorter
	bound     *bound
	splitters parse.Splitters
	splitter  *parse.Splitter
	message   record.Message
	key       []byte
	payload   []byte
}

// use sets the parser of the following records.
func (w *worker) use(parser *parse.Parser) {
	if len(w.fields) > 0 {
		w.splitter = w.splitters.Of(parser, w.fields...)
	}
}

// add adds a record of a block, at a position, unless it cannot be among those wanted.
func (w *worker) add(from *place, block int, position uint64, line []byte, f *record.Columns) error {
	w.key = w.appendKey(w.key[:0], from, line, f)
	if !w.bound.admit(w.key) {
		return nil
	}
	w.key = merge.AppendPosition(w.key, from.origin, block, position)
	w.payload = from.append(w.payload[:0], line)
	return w.sorter.Put(w.key, w.payload)
}

// appendKey appends the key of a record without its position among records of the same time.
func (w *worker) appendKey(dst []byte, from *place, line []byte, f *record.Columns) []byte {
	if len(w.fields) > 0 {
		w.message.Decode(f.Raw)
		w.splitter.Split(f.Attributes, w.message)
	}
	for i := range w.items {
		it := &w.items[i]
		switch it.fixed {
		case field.Time:
			dst = it.appendText(dst, line[:record.TimeLen]) // all have the same length, so texts compare like times
		case field.Level:
			dst = it.appendLevel(dst, f.Level)
		case field.Service:
			dst = it.appendText(dst, []byte(from.segment.Name.Service))
		case field.Source:
			dst = it.appendText(dst, f.Source)
		case field.Instance:
			dst = it.appendText(dst, []byte(from.origin.Meta.Instance))
		case field.Message:
			if len(w.fields) == 0 {
				w.message.Decode(f.Raw)
			}
			dst = it.appendText(dst, w.message)
		default:
			dst = it.appendValue(dst, w.splitter.Value(it.index))
		}
	}
	return append(dst, line[:record.TimeLen]...)
}
