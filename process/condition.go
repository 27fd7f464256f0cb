package process

import (
	"fmt"
	"sync"

	"logstow/field/where"
	"logstow/message/parse"
	"logstow/record"
)

// conditions are those of all rules of a processor. Safe for concurrent use.
type conditions struct {
	parser   *parse.Parser
	instance string
	all      where.Conditions
	free     sync.Pool // of *evaluator
}

func newConditions(parser, instance string) (*conditions, error) {
	compiled, err := parse.CompileStored(parser)
	return &conditions{parser: compiled, instance: instance}, err
}

// add compiles a condition and returns its index; -1 if it is "", which holds for all records.
func (c *conditions) add(text string) (int, error) {
	if text == "" {
		return -1, nil
	}
	p, err := where.CompileUntimed(text)
	if err != nil {
		return -1, fmt.Errorf("where %s: %w", text, err)
	}
	return c.all.Add(p), nil
}

// evaluator evaluates conditions for one record. It is not safe for concurrent use.
type evaluator struct {
	all      *where.Evaluators
	splitter *parse.Splitter
	record   where.Record
	// split is set if splitter has the fields of the record.
	split bool
}

// get returns an evaluator for a record, for exclusive use until put; nil if there are no conditions.
func (c *conditions) get(service string, r *record.Record) *evaluator {
	if len(c.all.Programs) == 0 {
		return nil
	}
	e, ok := c.free.Get().(*evaluator)
	if !ok {
		e = &evaluator{all: c.all.Evaluators(), splitter: c.parser.Splitter(c.all.Names...)}
	}
	e.record = where.Record{
		Time: r.Time, Level: r.Level, Service: service, Source: append(e.record.Source[:0], r.Source...), Instance: c.instance,
		Attributes: r.Attributes, Message: r.Message, Fields: e.splitter,
	}
	e.split = len(c.all.Names) == 0
	return e
}

func (c *conditions) put(e *evaluator) {
	if e != nil {
		e.splitter.Split(nil, nil)
		e.record = where.Record{Source: e.record.Source}
		c.free.Put(e)
	}
}

// holds reports whether a condition holds for the record.
func (e *evaluator) holds(condition int) bool {
	if !e.split {
		e.splitter.Split(e.record.Attributes, e.record.Message)
		e.split = true
	}
	return e.all.Holds(condition, &e.record)
}
