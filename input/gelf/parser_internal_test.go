package gelf

import (
	"cmp"
	"encoding/json"
	"errors"
	"math/big"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"logstow/input"
	"logstow/input/listen"
	"logstow/input/socket"
	"logstow/record"
	"logstow/record/attributes"
	"logstow/record/recognize"
)

func TestSeconds(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"1385053862":              1385053862e9,
		"1385053862.3072":         1385053862_307200000,
		"1700000000.123456789":    1700000000_123456789,
		"1700000000.1234567899":   1700000000_123456789,
		"1700000000.000000000000": 1700000000e9,
		"1.7000000001e9":          1700000000_100000000,
		"1.7E+9":                  1700000000e9,
		"17000000000e-1":          1700000000e9,
		"0":                       0,
		"0.5":                     5e8,
		"9223372036.854775807":    1<<63 - 1,
	} {
		if got, ok := parseSeconds([]byte(text)); got != want || !ok {
			t.Errorf("%s: %d %v, want %d", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "x", "-1", "1.", ".5", "1e", "1e+", "1.2.3", "9223372036.854775808", "99999999999999999999", "1e30", "1e1000", "NaN", "null", "1 "} {
		if got, ok := parseSeconds([]byte(text)); ok {
			t.Errorf("%s: %d", text, got)
		}
	}
}

// FuzzSeconds compares with arithmetic on fractions.
func FuzzSeconds(f *testing.F) {
	for _, text := range []string{"1385053862.3072", "1.7e9", "17000000000e-1", "0.0000000019", "99999999999999999999e-20", "1e18", "123456789012345678901234567890e-25"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, ok := parseSeconds([]byte(text))
		if !ok || len(text) > 40 {
			return
		}
		seconds, valid := new(big.Rat).SetString(text)
		if !valid {
			if got != 0 {
				t.Fatalf("%q is %d", text, got) // math/big has no exponents beyond a million
			}
			return
		}
		seconds.Mul(seconds, big.NewRat(1e9, 1))
		if want := new(big.Int).Quo(seconds.Num(), seconds.Denom()); want.Cmp(big.NewInt(got)) != 0 {
			t.Fatalf("%q is %d, want %s", text, got, want)
		}
	})
}

func newTestParser() *parser {
	return &parser{services: input.NewServices(0, nil), guard: recognize.New(recognize.Options{})}
}

func TestParse(t *testing.T) {
	t.Parallel()
	const sender = "192.0.2.9"
	for _, c := range []struct {
		document, service, source string
		time                      int64
		level                     record.Level
		message, attributes       string // none if the message is the document
	}{
		{
			`{"version":"1.1","host":"example.org","short_message":"A","full_message":"B\n\u00e9","timestamp":1385053862.3072,"level":1,"_user_id":9001,"_some_info":"foo"}`,
			"", "example.org", 1385053862_307200000, record.Fatal,
			"B\né", `{"host":"example.org","level":1,"short_message":"A","some_info":"foo","user_id":9001,"version":"1.1"}`,
		},
		{
			`{"short_message":"A","full_message":"","file":"a.c","line":5,"_x":{"b":[1.0,null],"a":true},"_resource":"r","_":1,"__y":2}`, "", sender, 0, record.None,
			"A", `{"_":1,"_y":2,"attribute.resource":"r","file":"a.c","full_message":"","line":5,"x":{"a":true,"b":[1.0,null]}}`,
		},
		{
			`{"_facility":"x","host":"h","facility":"mail","short_message":"A","level":4,"_short_message":"B","_file":"f"}`, "", "h/mail", 0, record.Warn,
			"A", `{"_facility":"x","_short_message":"B","facility":"mail","file":"f","host":"h","level":4}`,
		},
		{`{"short_message":"A","timestamp":-5,"level":"warning"}`, "", sender, 0, record.Warn, "A", `{"level":"warning","timestamp":-5}`},
		{`{"short_message":"A","timestamp":9000000000}`, "", sender, 9000000000e9, record.None, "A", `{"timestamp":9000000000}`},
		{`{"short_message":"A"}`, "", sender, 0, record.None, "A", ""},
		{`{"short_message":"A","_x":1,"_x":2}`, "", sender, 0, record.None, "", ""},
		{`{"short_message":"A","_x":{"a":1,"a":2}}`, "", sender, 0, record.None, "", ""},
		{`{"short_message":"A","_x":"` + strings.Repeat("y", 70_000) + `"}`, "", sender, 0, record.None, "", ""},
		{`{"short_message":"A",` + strings.Repeat(`"_x":1,`, 1000) + `"host":"h"}`, "", "h", 0, record.None, "", ""},
		{`{"short_message":"A","host":"h"} `, "", "h", 0, record.None, "A", `{"host":"h"}`},
		{`{"short_message":"A","host":"h"}x`, "", "h", 0, record.None, "", ""},
		{`{"short_message":"A" "host":"h"}`, "", "h", 0, record.None, "", ""},
		{`{"short_message":5,"host":"h"}`, "", "h", 0, record.None, "", ""},
		{`{"host":"h","_container_name":"web-1","level":"6","timestamp":"1385053862.5"}`, "", "h/web-1", 1385053862_500000000, record.Info, "", ""},
		{`{"short_message":"x","_service":"pay","level":7}`, "pay", sender, 0, record.Debug, "x", `{"level":7,"service":"pay"}`},
		{`{"short_message":"x","_facility":"f"}`, "", sender + "/f", 0, record.None, "x", `{"facility":"f"}`},
		{`{"host":"a\"b\u00e9","level":8,"timestamp":-5}`, "", `a"bé`, 0, record.None, "", ""},
		{`{"host":"a","host":"b","level":null,"timestamp":true,"_app":null}`, "", "a", 0, record.None, "", ""},
		{`{"_nested":{"host":"no","level":1},"host":"h"}`, "", "h", 0, record.None, "", ""},
		{`{"host":"h","short_message":"cut`, "", "h", 0, record.None, "", ""},
		{`[1]`, "", sender, 0, record.None, "", ""},
		{`plain`, "", sender, 0, record.None, "", ""},
		{`{`, "", sender, 0, record.None, "", ""},
	} {
		p := newTestParser()
		want := cmp.Or(c.message, c.document)
		service, e := p.Parse([]byte(c.document+"\n"), sender, 1800000000e9, attributes.MaxSize)
		if service != c.service || e.Source != c.source || e.Time != c.time || max(e.Level, e.Fallback) != c.level || string(e.Message) != want || string(e.Attributes) != c.attributes {
			t.Errorf("%s: %q %+v\n%s %s", c.document, service, e, e.Message, e.Attributes)
		}
	}
	const full = `{"short_message":"a\u0062","_b":"\u0063"}`
	for most, want := range map[int]string{9: "ab", 8: full} {
		if _, e := newTestParser().Parse([]byte(full), "", 0, most); string(e.Message) != want || len(e.Attributes) > most {
			t.Errorf("attributes of at most %d bytes: %s %s", most, e.Message, e.Attributes)
		}
	}
}

// FuzzParse checks what encoding/json finds in the same document.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"version":"1.1","host":"example.org","timestamp":1385053862.3072,"level":1,"_app":"foo"}`))
	f.Add([]byte(`{"host":{"host":"x"},"level":"3"`))
	f.Fuzz(func(t *testing.T, text []byte) {
		p := newTestParser()
		before := string(socket.TrimEnd(text))
		service, e := p.Parse(text, "sender", 0, attributes.MaxSize)
		if e.Attributes == nil && string(e.Message) != before && !strings.Contains(before, "_message") || len(e.Attributes) > 0 && !attributes.Valid(e.Attributes) || len(e.Source) > record.MaxSource || len(service) > 63 {
			t.Fatalf("%q %+v", service, e)
		}
		var d struct {
			Level     *int    `json:"level"`
			Timestamp float64 `json:"timestamp"`
		}
		if json.Unmarshal(text, &d) != nil || strings.Count(string(text), "level") != 1 || d.Level == nil || strings.Contains(string(text), `\`) {
			return
		}
		if strings.Contains(string(text), `"level"`) && *d.Level >= 1 && *d.Level <= 7 && e.Level == record.None && e.Fallback == record.None && strings.Contains(string(text), `"level":`) {
			t.Fatalf("%q has no level", text)
		}
	})
}

// FuzzUnpack checks that no sequence of datagrams harms, and that all memory is returned.
func FuzzUnpack(f *testing.F) {
	f.Add([]byte("\x1e\x0f12345678\x00\x02ab\xff\x1e\x0f12345678\x01\x02cd"))
	f.Add([]byte("\x1e\x0f12345678\x00\x01\x78\x9cab"))
	f.Add([]byte("\x1f\x8b\x08\x00\xff{}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		budget := listen.NewBudget(1<<20, nil)
		opts := &socket.Options{MaxMemory: 1 << 20, Options: input.Options{MaxRecord: input.MinMaxRecord, Stats: new(input.Stats)}}
		u := newUnpacker(opts, budget, func(int) {})
		for _, datagram := range strings.Split(string(text), "\xff") {
			if message, err := u.Unpack([]byte(datagram), netip.Addr{}); err == nil && len(message) > max(input.MinMaxRecord, len(datagram)) {
				t.Fatalf("%d bytes", len(message))
			}
		}
		u.Close()
		if !budget.Take(1 << 20) {
			t.Fatal("memory was not returned")
		}
	})
}

// The chunks of incomplete messages stay within their limit, and the newest are kept.
func TestChunkLimit(t *testing.T) {
	t.Parallel()
	const limit = 100_000
	dropped := 0
	a := newAssembler(limit, listen.NewBudget(1<<30, nil), func(n int) { dropped += n })
	defer a.close()
	for id := range 100 {
		if _, err := a.add(append([]byte{0x1e, 0x0f, 0, 0, 0, 0, 0, 0, 0, byte(id), 0, 2}, make([]byte, 5000)...), netip.Addr{}); err != nil {
			t.Fatal(err)
		}
		if a.charged > limit {
			t.Fatalf("%d bytes after %d", a.charged, id)
		}
	}
	if p, err := a.add([]byte{0x1e, 0x0f, 0, 0, 0, 0, 0, 0, 0, 99, 1, 2, 'x'}, netip.Addr{}); p == nil || err != nil || dropped < 80 || dropped > 85 {
		t.Errorf("%v %v, %d dropped", p, err, dropped)
	} else {
		a.release(p)
	}
}

// Beyond its first megabyte, unpacked messages take memory from the budget, until it is recycled.
func TestArena(t *testing.T) {
	t.Parallel()
	budget := listen.NewBudget(4<<20, nil)
	opts := &socket.Options{MaxMemory: 4 << 20, Options: input.Options{MaxRecord: 1 << 20, Stats: new(input.Stats)}}
	u := newUnpacker(opts, budget, func(int) {})
	defer u.Close()
	message := append([]byte{0x1e, 0x0f, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, make([]byte, 600_000)...)
	n, last := 0, error(nil)
	for ; n < 20 && last == nil; n++ {
		_, last = u.Unpack(message, netip.Addr{})
	}
	if !errors.Is(last, socket.ErrNoMemory) || n < 6 || n > 8 || u.charged != 3<<20 {
		t.Errorf("%v after %d, %d bytes charged", last, n, u.charged)
	}
	u.Recycle()
	if u.Held() != 0 || !budget.Take(4<<20) {
		t.Errorf("%d bytes held", u.Held())
	}
}

// Chunks that do not arrive within five seconds are given up, without further datagrams too.
func TestChunkTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		budget := listen.NewBudget(1<<20, nil)
		dropped := 0
		a := newAssembler(1<<20, budget, func(n int) { dropped += n })
		chunk := func(id, number byte) []byte {
			return []byte{0x1e, 0x0f, 0, 0, 0, 0, 0, 0, 0, id, number, 2, 'x'}
		}
		add := func(id, number byte) *partial {
			p, err := a.add(chunk(id, number), netip.Addr{})
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		add(1, 0)
		time.Sleep(3 * time.Second)
		add(2, 0)
		time.Sleep(2*time.Second - time.Millisecond)
		if p := add(1, 1); p == nil {
			t.Fatal("not complete after five seconds less a millisecond")
		} else {
			a.release(p)
		}
		time.Sleep(3*time.Second + 2*time.Millisecond)
		synctest.Wait()
		if dropped != 1 || a.charged != 0 || !budget.Take(1<<20) {
			t.Errorf("%d dropped, %d bytes held", dropped, a.charged)
		}
		a.close()
	})
}

func BenchmarkParse(b *testing.B) {
	document := []byte(`{"version":"1.1","host":"example.org","short_message":"GET /api/v1/orders 200","timestamp":1385053862.3072,"level":6,"_user_id":9001,"_app":"shop","_request":"0af7651916cd43dd8448eb211c80319c"}`)
	p := newTestParser()
	space := make([]byte, 0, len(document)) // which parsing changes
	b.SetBytes(int64(len(document)))
	b.ReportAllocs()
	for b.Loop() {
		p.Parse(append(space[:0], document...), "192.0.2.9", 0, attributes.MaxSize)
	}
}
