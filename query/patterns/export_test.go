package patterns

import (
	"bytes"
	"fmt"
	"math"
	"strings"

	"logstow/record"
)

// TemplatesOf counts messages and returns the template of each.
func TemplatesOf(c *Counter, messages [][]byte) []string {
	var shapes []string
	for _, message := range messages {
		c.Add("web", record.Record{Message: message})
	}
	for _, message := range messages {
		shape, words := c.masker.shape(c.texts.text(message))
		if g := c.set.groups[groupKey(shape, words)]; g.columns != nil {
			shape = g.coarseShape(shape)
		}
		shapes = append(shapes, string(shape))
	}
	templates := map[string]string{}
	for _, d := range c.drafts() {
		last := d
		for last.into != nil {
			last = last.into
		}
		templates[d.shape] = last.text()
	}
	texts := make([]string, len(messages))
	for i, shape := range shapes {
		texts[i] = templates[shape]
	}
	return texts
}

// Shape is the shape of a text.
func Shape(text string) string {
	shape, words := newMasker().shape([]byte(text))
	if n := 1 + bytes.Count(shape, []byte(" ")); len(shape) > 0 && words != n || len(shape) == 0 && words != 0 {
		return fmt.Sprintf("%d words: %s", words, shape)
	}
	return string(shape)
}

// Limit sets how many shapes a Counter keeps.
func (c *Counter) Limit(n int) *Counter {
	c.set.limit, c.set.most = n, 2*n
	return c
}

// Unlimited makes a Counter keep all shapes, coarse as they may be.
func (c *Counter) Unlimited() *Counter {
	c.set.most = math.MaxInt
	return c
}

// GroupKey is the key of a shape's group.
func GroupKey(shape string) uint16 { return groupKey([]byte(shape), 1+strings.Count(shape, " ")) }

// MostServices is how many services a shape has at most.
func (c *Counter) MostServices() (n int) {
	for _, g := range c.set.groups {
		if g != nil {
			for _, t := range g.shapes {
				n = max(n, len(t.services))
			}
		}
	}
	return n
}
