package pipeline

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"logstow/logql/labels"
	"logstow/logql/syntax"
)

// A processor does not keep an unlimited number of keys, values, streams, or a large record.
func TestMemoryIsBounded(t *testing.T) {
	compiled, err := Compile([]syntax.Stage{&syntax.JSONParser{}}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := compiled.Processor()
	for i := range 40_000 {
		stream := &Stream{Labels: labels.New(labels.Label{Name: "a", Value: "b"})}
		if !p.Process(0, nil, fmt.Appendf(nil, `{"k%d":"v%d","x":"\u0061%d"}`, i, i, i%7), stream) || p.Get("x") != fmt.Sprintf("a%d", i%7) {
			t.Fatal("record", i)
		}
		p.Labels()
		if len(p.byName) > maxSymbols+maxParsed || p.names.size > maxNames+maxParsed*keySize || len(p.streams) > maxStreams || len(p.interned) > maxInterned {
			t.Fatalf("after %d records: %d names, %d bytes of keys, %d streams, %d values", i, len(p.byName), p.names.size, len(p.streams), len(p.interned))
		}
	}
	large := make([]byte, 2*maxArena)
	p.arena = large
	p.Process(0, nil, []byte(`{}`), &Stream{})
	if cap(p.arena) > maxArena {
		t.Error("the memory of a large record is kept")
	}
}

// Neither long keys nor long values of many keys are kept.
func TestLongTextsAreNotKept(t *testing.T) {
	long := strings.Repeat("x", 16<<10)
	for _, c := range []struct {
		stage syntax.Stage
		line  string // with a number
	}{
		{&syntax.LogfmtParser{}, "k%d" + long},
		{&syntax.LogfmtParser{}, "k%d=" + long},
		{&syntax.JSONParser{}, `{"k%d` + long + `":1,"level":2}`},
		{&syntax.JSONParser{}, `{"k%d":"` + long + `"}`},
		{&syntax.UnpackParser{}, `{"_entry":"","k%d` + long + `":"1"}`},
	} {
		compiled, err := Compile([]syntax.Stage{c.stage}, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		p := compiled.Processor()
		for i := range 3000 {
			if p.Process(0, nil, fmt.Appendf(nil, c.line, i), &Stream{}); p.Get(labels.Error) != "" {
				t.Fatal(p.Get(labels.ErrorDetails))
			}
			p.Labels()
		}
		kept := 0
		for name, s := range p.byName {
			kept += len(name) + len(s.str) + len(s.last) + cap(s.text)
		}
		if most := maxNames + 4*len(long); kept > most {
			t.Errorf("%.20s…: %d bytes are kept, more than %d", c.line, kept, most)
		}
	}
}

// Loops that take long end; a process that is stopped for a while has the same answer as another.
func TestLoopTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		loops := func(n int, each time.Duration) error {
			b := &budget{loops: maxLoops}
			for range n {
				if _, err := b.loop(); err != nil {
					return err
				}
				time.Sleep(each)
			}
			return nil
		}
		if err := loops(2, time.Hour); err != nil {
			t.Error(err)
		}
		for _, each := range []time.Duration{time.Millisecond, maxIteration, time.Second} {
			if err := loops(1010, each); !errors.Is(err, errTime) {
				t.Errorf("iterations of %v: %v", each, err)
			}
		}
		if err := loops(1000, time.Millisecond); err != nil {
			t.Error(err)
		}
	})
}
