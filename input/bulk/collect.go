package bulk

import (
	"bytes"
	"fmt"
	"iter"

	"logstow/input"
	"logstow/input/httpserver"
	"logstow/message"
	"logstow/record/recognize"
)

// itemCost is the approximate memory of an item in bytes, in addition to the texts of its action.
const itemCost = 224

// item is an action of a request, for the response.
type item struct {
	action, index, id string
	// rejected is the reason why the action was rejected, or "".
	rejected string
}

// items holds the actions of a request in chunks. A growing slice would be copied repeatedly, and under load the garbage would
// accumulate faster than the runtime collects it.
type items [][]item

// chunkItems is the number of items in a chunk, 64 KiB of them.
const chunkItems = 1024

// add adds an item.
func (s *items) add(it item) {
	last := len(*s) - 1
	if last < 0 || len((*s)[last]) == chunkItems {
		first := 16 // most requests are small
		if last >= 0 {
			first = chunkItems
		}
		*s = append(*s, make([]item, 0, first))
		last++
	}
	(*s)[last] = append((*s)[last], it)
}

// all yields the items with their numbers, from 0.
func (s items) all() iter.Seq2[int, *item] {
	return func(yield func(int, *item) bool) {
		n := 0
		for _, chunk := range s {
			for i := range chunk {
				if !yield(n, &chunk[i]) {
					return
				}
				n++
			}
		}
	}
}

// collector collects the documents of a request.
type collector struct {
	handler *Handler
	lease   *httpserver.Lease
	// index is the index of the path.
	index string
	// recognizer reads times of members.
	recognizer *recognize.Recognizer
	read       int64
	member     []byte

	items   items
	batches input.Batches
	// last is the index of the last action, decoded, and lastRaw its encoded form. The next action usually has the same index.
	last, lastRaw string
}

func newCollector(h *Handler, lease *httpserver.Lease, index string) *collector {
	return &collector{
		handler: h, lease: lease, index: index, recognizer: recognize.New(h.Recognize), read: h.Now().UnixNano(),
	}
}

// collect reads the lines of a body: actions, each with the line of its document, except for delete.
func (c *collector) collect(body []byte) error {
	number := 0
	next := func() (line []byte, ok bool) {
		if len(body) == 0 {
			return nil, false
		}
		line, body, _ = bytes.Cut(body, []byte{'\n'})
		number++
		return line, true
	}
	for {
		line, ok := next()
		if !ok {
			return nil
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		it, err := c.action(line)
		if err != nil {
			return fmt.Errorf("%w: line %d: %w", httpserver.ErrBody, number, err)
		}
		if err := c.lease.Take(itemCost + int64(len(line))); err != nil {
			return err
		}
		switch it.action {
		case "delete":
			it.rejected = "delete is not supported: records cannot be changed"
		default:
			document, ok := next()
			if !ok {
				return fmt.Errorf("%w: line %d: no document follows the action", httpserver.ErrBody, number)
			}
			if it.action == "update" {
				it.rejected = "update is not supported: records cannot be changed"
				break
			}
			if trimmed := bytes.TrimSpace(document); len(trimmed) < 2 || trimmed[0] != '{' || trimmed[len(trimmed)-1] != '}' {
				it.rejected = "the document is not a JSON object"
				break
			}
			if err := c.document(document, it.index); err != nil {
				return err
			}
		}
		c.items.add(it)
	}
}

// action parses an action: {"create":{"_index":…,"_id":…}}.
func (c *collector) action(line []byte) (it item, err error) {
	value, ok := message.RawValue(line)
	if !ok || value[0] != '{' {
		return it, fmt.Errorf("%.100q is not an action", line)
	}
	in := message.Object(value)
	name, meta, ok := in.Next()
	if !ok || len(meta) == 0 || meta[0] != '{' {
		return it, fmt.Errorf("%.100q is not an action", line)
	}
	switch string(name) {
	case "create", "index", "delete", "update":
		it.action = actionName(name)
	default:
		return it, fmt.Errorf("unknown action %.100q: want create or index", name)
	}
	it.index = c.index
	members := message.Object(meta)
	for {
		name, value, ok := members.Next()
		if !ok {
			return it, nil
		}
		text, isText := message.Content(value)
		switch {
		case string(name) == "_index" && isText:
			if string(text) != c.lastRaw {
				c.lastRaw, c.last = string(text), string(message.Unescape(nil, text))
			}
			it.index = c.last
		case string(name) == "_id" && isText:
			it.id = string(message.Unescape(nil, text))
		}
	}
}

// actionName returns the name of an action as a constant, which does not keep the request in memory.
func actionName(name []byte) string {
	for _, known := range []string{"create", "index", "delete"} {
		if string(name) == known {
			return known
		}
	}
	return "update"
}

// document collects a document.
func (c *collector) document(document []byte, index string) error {
	if err := c.lease.Take(input.GrowingCost); err != nil {
		return err
	}
	service, when := c.members(document)
	if service != "" {
		service = c.handler.Services.Admit(service)
	}
	c.batches.Add(service, input.Event{Time: c.time(when), Source: index, Message: document})
	return nil
}

// members returns the name of the service and the encoded time in a document, or "" and nil.
func (c *collector) members(document []byte) (service string, when []byte) {
	const none = 4
	object, _ := message.RawValue(document)
	rank, timeRank := none, none
	if c.handler.ConfiguredService {
		rank = 0
	}
	in := message.Object(object)
	for rank > 0 || timeRank > 0 {
		name, value, ok := in.Next()
		if !ok {
			break
		}
		switch string(name) {
		case "@timestamp":
			timeRank, when = 0, value
		case "timestamp":
			if timeRank > 1 {
				timeRank, when = 1, value
			}
		case "time":
			if timeRank > 2 {
				timeRank, when = 2, value
			}
		case "service_name", "service", "service.name", "app":
			if r := serviceRank(name); r < rank {
				if text := serviceName(value); input.CleanService(text) != "" {
					rank, service = r, text
				}
			}
		}
	}
	return service, when
}

// serviceRank returns the precedence of a member that names a service.
func serviceRank(name []byte) int {
	switch string(name) {
	case "service_name":
		return 0
	case "service":
		return 1
	case "service.name":
		return 2
	}
	return 3
}

// serviceName returns a text, or the member name of an object.
func serviceName(value []byte) string {
	if text, ok := message.Content(value); ok {
		return string(message.Unescape(nil, text))
	}
	if len(value) == 0 || value[0] != '{' {
		return ""
	}
	in := message.Object(value)
	for {
		name, value, ok := in.Next()
		if !ok {
			return ""
		}
		if text, isText := message.Content(value); isText && string(name) == "name" {
			return string(message.Unescape(nil, text))
		}
	}
}

// time returns the time of a member in Unix nanoseconds. It is 0 if the member is not a time or the time is
// rejected; then it is recognized in the document.
func (c *collector) time(value []byte) int64 {
	if value == nil {
		return 0
	}
	c.member = append(append(append(c.member[:0], `{"@timestamp":`...), value...), '}')
	stamp := c.recognizer.Stamp(c.member, c.read, c.read)
	if !stamp.Found || stamp.Rejected != recognize.Accepted {
		return 0
	}
	return stamp.Time
}
