package forward_test

import (
	"math"
	"strings"
	"testing"

	"github.com/vmihailenco/msgpack/v5"

	"logstow/input/forward"
	"logstow/internal/test/inputtest"
)

// ordered is a map whose members keep their order.
type ordered []any

func (o ordered) EncodeMsgpack(enc *msgpack.Encoder) error {
	if err := enc.EncodeMapLen(len(o) / 2); err != nil {
		return err
	}
	for _, v := range o {
		if err := enc.Encode(v); err != nil {
			return err
		}
	}
	return nil
}

func TestRecord(t *testing.T) {
	t.Parallel()
	const at = "2026-11-18T11:06:40"
	long := strings.Repeat("x", 2000)
	for name, c := range map[string]struct {
		when, record any
		key, want    string
	}{
		"log alone":            {second, ordered{"log", "INFO a\tb"}, "", at + "Z INFO app INFO a\tb"},
		"message alone":        {second, ordered{"message", "a\n"}, "", at + "Z - app a"},
		"CR LF":                {second, ordered{"message", "a\n\r\n"}, "", at + "Z - app a\n"},
		"bytes as they are":    {second, ordered{"log", "\xff\x00\n\ta"}, "", at + "Z - app \xff\x00\n\ta"},
		"log with others":      {second, ordered{"log", "a", "stream", "stderr"}, "", at + `Z - app {"log":"a","stream":"stderr"}`},
		"body alone":           {second, ordered{"body", "a"}, "", at + "Z - app a"},
		"its own time":         {second, ordered{"log", "2026-11-18T11:06:39.5Z a"}, "", "2026-11-18T11:06:39.5Z - app 2026-11-18T11:06:39.5Z a"},
		"a later time":         {second, ordered{"log", "2026-11-18T11:06:41Z a"}, "", at + "Z - app 2026-11-18T11:06:41Z a"},
		"wrapped":              {second, ordered{"log", "2026-11-18T11:06:39Z \"ERROR\": x\n", "stream", "a"}, "", `2026-11-18T11:06:39Z ERROR app {"log":"2026-11-18T11:06:39Z \"ERROR\": x\n","stream":"a"}`},
		"wrapped JSON":         {second, ordered{"log", `{"level":"warn","time":"2026-11-18T11:06:39Z"}`, "stream", "a"}, "", `2026-11-18T11:06:39Z WARN app {"log":"{\"level\":\"warn\",\"time\":\"2026-11-18T11:06:39Z\"}","stream":"a"}`},
		"log, no text":         {second, ordered{"log", 1}, "", at + `Z - app {"log":1}`},
		"another key":          {second, ordered{"text", "a"}, "", at + `Z - app {"text":"a"}`},
		"in their order":       {second, ordered{"z", 1, "level", "warn", "a", ordered{"y", nil, "b", true}}, "", at + `Z WARN app {"z":1,"level":"warn","a":{"y":null,"b":true}}`},
		"empty":                {second, ordered{}, "", at + "Z - app {}"},
		"a text":               {second, "a line\n", "", at + "Z - app a line"},
		"a list":               {second, []any{1, -1, 1.5, float32(0.1), "é"}, "", at + `Z - app [1,-1,1.5,0.1,"é"]`},
		"message key":          {second, ordered{"log", "a", "stream", "stderr"}, "log", at + "Z - app a"},
		"no message key":       {second, ordered{"log", "a"}, "line", at + `Z - app {"log":"a"}`},
		"message key, no text": {second, ordered{"log", ordered{}}, "log", at + `Z - app {"log":{}}`},
		"keys":                 {second, ordered{1, 2, nil, 3, true, 4, 1.5, 5, math.NaN(), 6, []any{"a"}, 7}, "", at + `Z - app {"1":2,"null":3,"true":4,"1.5":5,"NaN":6,"kaFh":7}`},
		"numbers":              {second, []any{uint64(math.MaxUint64), int64(math.MinInt64), math.Inf(1), math.Inf(-1), 1e300}, "", at + `Z - app [18446744073709551615,-9223372036854775808,"Infinity","-Infinity",1e+300]`},
		"escapes":              {second, []any{"\"\\\n\r\t\x01\x7f\xff"}, "", at + `Z - app ["\"\\\n\r\t\u0001` + "\x7f\uFFFD\"]"},
		"a time inside":        {second, []any{eventTime{second, 5}}, "", at + `Z - app ["2026-11-18T11:06:40.000000005Z"]`},
		"another extension":    {second, []any{msgpack.RawMessage{0xd5, 9, 'a', 'b'}}, "", at + `Z - app ["YWI="]`},
		"nanoseconds":          {eventTime{second, 999999999}, ordered{"log", "a"}, "", at + ".999999999Z - app a"},
		"a float":              {second + 0.5, ordered{"log", "a"}, "", at + ".5Z - app a"},
		"with metadata":        {[]any{eventTime{second, 1}, ordered{"m", 1}}, ordered{"log", "a"}, "", at + ".000000001Z - app a"},
		"no time":              {nil, ordered{"log", "2026-11-18T11:00:00Z a"}, "", "2026-11-18T11:00:00Z - app 2026-11-18T11:00:00Z a"},
		"zero":                 {0, ordered{"log", "a"}, "", "2026-11-18T11:08:20Z - app a"},
		"1970":                 {77, ordered{"log", "a"}, "", `2026-11-18T11:08:20Z - app {"log":"a","refused_time":77}`},
		"1970, empty":          {77, ordered{}, "", `2026-11-18T11:08:20Z - app {"refused_time":77}`},
		"1960":                 {-77, ordered{"log", "a"}, "", `2026-11-18T11:08:20Z - app {"log":"a","refused_time":-77}`},
		"far ahead":            {uint64(math.MaxUint64), ordered{"log", "a"}, "log", `2026-11-18T11:08:20Z - app {"log":"a","refused_time":18446744073709551615}`},
		"2105":                 {eventTime{math.MaxUint32 - 2, 0}, ordered{"a", 1}, "", `2026-11-18T11:08:20Z - app {"a":1,"refused_time":"2106-02-07T06:28:13Z"}`},
		"too long":             {second, ordered{"log", long}, "", at + "Z - app " + long[:980] + " …[logstow: cut 1020 bytes]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := inputtest.NewSink()
			opts := forward.Options{Options: options(s), Spec: forward.Spec{MessageKey: c.key}}
			opts.MaxRecord = 1024
			server, _ := serve(t, opts)
			conn := dial(t, server)
			inputtest.Write(t, conn, pack(t, []any{"app", pack(t, []any{c.when, c.record}), chunk("a")}))
			acknowledged(t, conn, "a")
			got := lines(s.Wait(t, 1))[0]
			if got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
