package socket

import (
	"bytes"
	"testing"

	"logstow/input"
	"logstow/input/listen"
	"logstow/record/attributes"
)

// copier is a Parser whose events have the message as attributes, too.
type copier struct{}

func (copier) Parse(message []byte, _ string, _ int64, most int) (string, input.Event) {
	if len(message) > most {
		return "", input.Event{Message: message}
	}
	return "", input.Event{Message: message, Attributes: bytes.Clone(message)[:len(message):len(message)]}
}

// Attributes count against the budget while a batch holds them. Without memory the batch must be passed on, and a message then has those
// that fit into the space that each batch has.
func TestAttributesCount(t *testing.T) {
	t.Parallel()
	const size = 512 << 10
	budget := listen.NewBudget(size, nil)
	s := &Server{budget: budget, protocol: Protocol{Attributes: true, Parser: func(*Options, bool) Parser { return copier{} }}}
	b := s.newBatch(false)
	held := func() int {
		n := 0
		for budget.Take(1 << 10) {
			n++
		}
		budget.Give(int64(n << 10))
		return size - n<<10
	}
	message := bytes.Repeat([]byte{'x'}, 1000)
	added := 0
	for ; b.len == 0 || b.fits(len(message)); added += len(message) {
		b.add(message, "", 0)
		if got := held(); got < added+len(message)-freeAttributes || got > added+len(message)+need(len(message))+reserveStep {
			t.Fatalf("%d bytes are reserved for %d", got, added)
		}
		if b.len == maxEvents {
			t.Fatal("the batch is full before the budget is empty")
		}
	}
	if added < size*3/4 || added > size+freeAttributes {
		t.Errorf("%d bytes of attributes in a budget of %d", added, size)
	}
	if b.reset(); held() != 0 {
		t.Errorf("%d bytes are reserved after all", held())
	}
	if !budget.Take(size) {
		t.Fatal("no memory")
	}
	for n, want := range map[int]bool{100: true, freeAttributes: true, freeAttributes + 1: false, attributes.MaxSize: false} {
		b.add(bytes.Repeat([]byte{'x'}, n), "", 0)
		if got := b.groups[0].events[0]; (got.Attributes != nil) != want || len(got.Message) != n {
			t.Errorf("a message of %d bytes without memory has %d bytes of attributes", n, len(got.Attributes))
		}
		b.reset()
	}
	budget.Give(size)
	if b.add(bytes.Repeat([]byte{'x'}, attributes.MaxSize), "", 0); b.groups[0].events[0].Attributes == nil {
		t.Error("no attributes with memory")
	}
	b.reset()

	s.protocol.Attributes = false
	b = s.newBatch(false)
	for range 500 {
		b.add(message, "", 0)
	}
	if held() != 0 || !b.fits(attributes.MaxSize) {
		t.Errorf("%d bytes are reserved for a protocol without attributes", held())
	}
}
