package forward

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"logstow/input"
	"logstow/record/attributes"
	"logstow/record/recognize"
)

// FuzzJSON writes any value that is msgpack as JSON.
func FuzzJSON(f *testing.F) {
	for _, v := range values() {
		f.Add(v[:min(len(v), 100)], false)
	}
	f.Add([]byte{0x85, 0x90, 1, 0xcb, 0x7f, 0xf8, 0, 0, 0, 0, 0, 1, 2, 0xc0, 3, 0xd4, 0, 0, 4, 0xa1, 0xff, 5}, true)
	f.Fuzz(func(t *testing.T, b []byte, short bool) {
		in := cursor{b}
		v, err := in.value()
		if err != nil {
			return
		}
		limit := 1 << 20
		if short {
			limit = 40
		}
		w := writer{limit: limit, b: []byte("before")}
		w.begin()
		c := cursor{v}
		if err := w.value(&c); err != nil {
			t.Fatalf("%x: %v", v, err)
		}
		switch text := w.b[len("before"):]; {
		case len(c.b) > 0:
			t.Errorf("%x: %x is left", v, c.b)
		case w.size > int64(limit) && len(text) != limit:
			t.Errorf("%x: %d bytes of %d are kept, the limit is %d", v, len(text), w.size, limit)
		case w.size <= int64(limit) && (!json.Valid(text) || int64(len(text)) != w.size):
			t.Errorf("%x: %d bytes that are not JSON: %q", v, w.size, text)
		case len(text) > expansion*len(v)+64:
			t.Errorf("%x: %d bytes become %d", v, len(v), len(text))
		}
	})
}

func marshal(f testing.TB, v any) []byte {
	b, err := msgpack.Marshal(v)
	if err != nil {
		f.Fatal(err)
	}
	return b
}

// FuzzMessage takes a message apart, whatever it is.
func FuzzMessage(f *testing.F) {
	record := map[string]any{"log": "a", "b": []any{1}}
	one := marshal(f, []any{1795000000, record})
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = z.Write(bytes.Repeat(one, 40))
	_ = z.Close()
	options := map[string]any{"chunk": "id", "compressed": "gzip", "size": 1}
	f.Add(marshal(f, []any{"tag", 1795000000, record}), "")
	f.Add(marshal(f, []any{"tag", []any{[]any{77, record}, []any{nil, "text\n"}}, nil}), "log")
	f.Add(marshal(f, []any{"tag", append(one, one...), map[string]any{"chunk": "id"}}), "log")
	group := marshal(f, []any{-1, map[string]any{"resource": map[string]any{"attributes": map[string]any{"a": "b"}, "schema_url": "s"}, "scope": map[string]any{"name": 1}}})
	f.Add(marshal(f, []any{"tag", append(group, one...)}), "")
	f.Add(marshal(f, []any{"tag", zipped.Bytes(), options}), "x")
	f.Add(marshal(f, []any{"tag", zipped.Bytes()[:30], options}), "")
	f.Fuzz(func(t *testing.T, b []byte, key string) {
		var s scanner
		size, err := s.next(b, 1<<16)
		if err != nil || size == 0 {
			return
		}
		m, err := parseRequest(b[:size])
		if m == nil || err != nil {
			if err != nil && !errors.Is(err, errMalformed) {
				t.Errorf("%x: %v", b, err)
			}
			return
		}
		grown := 0
		opts := &Options{Options: input.Options{MaxRecord: 1024, Stats: new(input.Stats)}, Spec: Spec{MessageKey: key}}
		c := collector{
			opts: opts, out: writer{limit: opts.MaxRecord}, guard: recognize.New(opts.Recognize), read: time.Now().UnixNano(),
			grow: func(n int) error {
				if grown += n; grown > 64<<20 {
					return errNoMemory
				}
				return nil
			},
		}
		c.release()
		if err := collectAll(&c, m); err != nil && !errors.Is(err, errMalformed) && !errors.Is(err, errTooLong) && !errors.Is(err, errNoMemory) {
			t.Errorf("%x: %v", b, err)
		}
		if have := cap(c.out.b) + cap(c.list)*input.EventCost; have > grown+initialMessages+initialEvents*input.EventCost {
			t.Errorf("%x: %d bytes are held, %d were requested", b, have, grown)
		}
		for _, e := range c.pieces() {
			if len(e.Message) > opts.MaxRecord {
				t.Errorf("%x: a message of %d bytes", b, len(e.Message))
			}
			if len(e.Attributes) > 0 && !attributes.Valid(e.Attributes) {
				t.Errorf("%x: attributes are not valid: %q", b, e.Attributes)
			}
		}
	})
}

// collectAll collects all events of a message.
func collectAll(c *collector, m *request) error {
	if m.one != nil {
		return c.pair(&cursor{m.one})
	}
	packed, err := newEvents(m, c.grow)
	if err != nil {
		return err
	}
	for {
		b, err := packed.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := c.event(b); err != nil {
			return err
		}
	}
}

// FuzzPing answers anything with a refusal or an error, because the key is secret.
func FuzzPing(f *testing.F) {
	opts := &Options{Spec: Spec{SharedKey: "key", Users: map[string]string{"user": "password"}}, Hostname: "logstow"}
	f.Add(marshal(f, []any{"PING", "host", "salt", "digest", "user", "password"}))
	f.Add(marshal(f, []any{"PING", "host", "salt", "digest", "user"}))
	f.Fuzz(func(t *testing.T, b []byte) {
		pong, err := opts.newHandshake().pong(b)
		if err == nil || pong != nil != errors.Is(err, errRejected) {
			t.Errorf("%x: %x, %v", b, pong, err)
		}
	})
}

// The attributes that a message's events get of groups are bounded, however small the events are; what is left out is counted.
func TestShared(t *testing.T) {
	t.Parallel()
	opts := &Options{Options: input.Options{MaxRecord: 1024, Stats: new(input.Stats)}}
	c := collector{opts: opts, out: writer{limit: opts.MaxRecord}, guard: recognize.New(opts.Recognize), grow: func(int) error { return nil }}
	group := map[string]any{"resource": map[string]any{"attributes": map[string]any{"a": strings.Repeat("x", 60_000), "b": 1}}}
	if err := c.event(marshal(t, []any{-1, group})); err != nil {
		t.Fatal(err)
	}
	one, size, full, cut := marshal(t, []any{-3, "x"}), 0, 0, 0
	for range 3000 {
		if err := c.event(one); err != nil {
			t.Fatal(err)
		}
		attributes := c.pieces()[0].Attributes
		size += len(attributes)
		switch {
		case len(attributes) > 60_000:
			full++
		case string(attributes) == `{"$cut":2}`:
			cut++
		}
		c.reset()
	}
	if size > maxShared+3000*20 || full < maxShared/61_000 || full+cut != 3000 {
		t.Errorf("%d bytes, %d events have them, %d have not", size, full, cut)
	}
}
