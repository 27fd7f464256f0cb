package pipeline

import (
	"bytes"
	"strings"

	"logstow/message"
)

// quickKey finds the member of an object that becomes a label, without the members before it.
type quickKey struct {
	sym *symbol
	key []byte // the name in quotes, with a colon
	// run is the longest part of the name without _, at the offset at of key: all keys that become the label contain it.
	run   []byte
	at    int
	value []byte // in the current record, nil if it is not set
}

func newQuickKey(s *symbol) quickKey {
	q := quickKey{sym: s, key: []byte(`"` + s.name + `":`)}
	if strings.HasSuffix(s.name, extractedSuffix) { // another key may become it
		return q
	}
	for i, part := 1, []byte(s.name); ; {
		run, rest, found := bytes.Cut(part, []byte("_"))
		if len(run) > len(q.run) {
			q.run, q.at = run, i
		}
		if !found {
			return q
		}
		i, part = i+len(run)+1, rest
	}
}

// find is the value of the member, if only members with simple values and no escapes are in front of it, and none of them can be the same
// label: before end is nothing nested and no escape, and the text of the name occurs nowhere earlier.
func (q *quickKey) find(object []byte, end int) ([]byte, bool) {
	if len(q.run) == 0 {
		return nil, false
	}
	i := bytes.Index(object[:end], q.run) - q.at
	if i < 1 || !bytes.HasPrefix(object[i:], q.key) {
		return nil, false
	}
	value, ok := message.RawValue(object[i+len(q.key):])
	if !ok || value[0] == 'n' || !isScalar(value) {
		return nil, false
	}
	return value, true
}

// flatEnd returns the offset up to which an object is flat: after it, the object may end or have nested values or escapes.
func flatEnd(object []byte) int {
	end := len(object)
	for _, c := range [...]byte{'{', '[', '\\', '}'} {
		if i := bytes.IndexByte(object[1:end], c); i >= 0 {
			end = 1 + i
		}
	}
	return end
}

// quick sets the wanted labels, if all of them can be found without the members before them. It reports whether it did.
func (j *jsonParser) quick(object []byte) bool {
	end := flatEnd(object)
	for i := range j.keys {
		k := &j.keys[i]
		if k.value = nil; j.p.target(k.sym) != k.sym {
			continue
		}
		var ok bool
		if k.value, ok = k.find(object, end); !ok {
			return false
		}
	}
	for i := range j.keys {
		if k := &j.keys[i]; k.value != nil && !j.p.parsed(k.sym, j.p.jsonText(k.value)) {
			j.p.fail(jsonError, errTooMany.Error())
			break
		}
	}
	return true
}
