package columns_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"logstow/columns"
	"logstow/exact"
	"logstow/field"
	"logstow/internal/test/effort"
	"logstow/message"
	"logstow/message/parse"
	"logstow/record"
)

// text is the text of a block of messages, some of several lines.
func text(start int64, step int64, messages ...string) (b []byte, n int) {
	for i, m := range messages {
		b = record.AppendText(b, record.Record{Time: start + int64(i)*step, Level: record.Level(i % record.Levels), Source: fmt.Sprint("app-", i%3), Message: []byte(m)})
	}
	return b, len(messages)
}

func TestColumns(t *testing.T) {
	t.Parallel()
	seed := time.Now().UnixNano()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(uint64(seed), 1))
	for range (effort.Cases{Test: 25, Full: 80}).N() {
		parser := ""
		if rnd.IntN(4) == 0 {
			parser = parsers()[rnd.IntN(len(parsers()))]
		}
		messages := make([]string, 1+rnd.IntN(3000))
		shape := rnd.IntN(4)
		for i := range messages {
			messages[i] = randomMessage(rnd, shape)
		}
		check(t, parser, messages, int64(rnd.IntN(3))*rnd.Int64N(2e9), rnd.Int64N(4e9))
	}
}

func randomMessage(rnd *rand.Rand, shape int) string {
	number := func() string {
		switch rnd.IntN(9) {
		case 0:
			return fmt.Sprint(rnd.IntN(10))
		case 1:
			return fmt.Sprintf("%d.%02d", rnd.IntN(1000), rnd.IntN(100))
		case 2:
			return "-0"
		case 3:
			return fmt.Sprintf("%de%d", rnd.IntN(9), rnd.IntN(5))
		case 4:
			return fmt.Sprintf("%d%018d", 1+rnd.IntN(9), rnd.Int64N(1e18))
		case 5:
			return fmt.Sprintf("-%g", rnd.Float64())
		case 6:
			return "null"
		}
		return fmt.Sprint(rnd.IntN(100000))
	}
	switch shape {
	case 0:
		return fmt.Sprintf(`{"status":%d,"took":%s,"method":"%c","id":"%x","a":{"b":%s},"path":"/x\u00e4\n%d"}`,
			200+rnd.IntN(5), number(), 'A'+rune(rnd.IntN(4)), rnd.Uint64(), number(), rnd.IntN(5))
	case 1:
		return fmt.Sprintf("status=%d took=%s method=%q\nid=%x", 200+rnd.IntN(5), number(), "x y", rnd.Uint64())
	case 2:
		return fmt.Sprintf(`1.2.3.%d - - [20/Nov/2026:15:04:05 +0000] "GET /a/%d HTTP/1.1" 200 %d "-" "curl"%s`,
			rnd.IntN(9), rnd.IntN(3), rnd.IntN(1e6), []string{"", " took=5 status=x"}[rnd.IntN(2)])
	}
	return fmt.Sprintf(`{"took":%d.%d,"big":%d,"status":%q,"t":%v}`, rnd.IntN(5000), rnd.IntN(10), rnd.Int64N(1e15), number(), rnd.IntN(2) == 0)
}

// parsers are parsers as a footer has them.
func parsers() []string {
	return []string{"", "pattern/1 '<took> <status> <_>'", `regexp/1 'took=(?P<took>\\S*)(?P<rest>.*)'`, "none/1"}
}

// check builds the columns of messages in two blocks, and compares every value of every page with what the text has.
func check(t *testing.T, parser string, messages []string, start, step int64) {
	t.Helper()
	p, err := parse.CompileStored(parser)
	if err != nil {
		t.Fatal(err)
	}
	named := []string{"took", "missing", "level", "message.status", "a.b", "took"}
	b := columns.NewBuilder(parser, columns.Options{Named: named})
	var scratch columns.Scratch
	half := (len(messages) + 1) / 2
	blocks := [][]string{messages[:half], messages[half:]}
	if len(messages) == 1 {
		blocks = blocks[:1]
	}
	from := start
	for _, block := range blocks {
		body, n := text(from, step, block...)
		b.AddBlock(&scratch, body, n, from, int64(100*len(body))+10_000)
		from += int64(n) * step
	}
	all := b.Columns()
	if len(all) < 3 {
		t.Fatalf("only %d columns", len(all))
	}
	for _, c := range all {
		from = start
		for k, block := range blocks {
			checkPage(t, p, c, k, block, from, step)
			from += int64(len(block)) * step
		}
	}
}

// checkPage compares the page of a block with its messages.
func checkPage(t *testing.T, p *parse.Parser, c columns.Column, k int, messages []string, start, step int64) {
	t.Helper()
	if c.Pages[k] == nil {
		if c.Name.Fixed != "" {
			t.Errorf("block %d has no page of %s", k, c.Name)
		}
		return
	}
	n := len(messages)
	if c.Name.Fixed == field.Time {
		runs, err := columns.DecodeSeconds(c.Pages[k], n)
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			if i >= runs[0].End {
				runs = runs[1:]
			}
			at := start + int64(i)*step
			if first, last := runs[0].Times(start / 1e9); at < first || at > last || (at%1e9 == 0) != (first == last) {
				t.Fatalf("record %d at %d is between %d and %d", i, at, first, last)
			}
		}
		return
	}
	page, err := columns.DecodePage(c.Pages[k], n)
	if err != nil {
		t.Fatal(err)
	}
	if least, greatest := page.Bounds(); least != c.Least[k] || greatest != c.Greatest[k] {
		t.Errorf("%s is from %q to %q, the page from %q to %q", c.Name, c.Least[k], c.Greatest[k], least, greatest)
	}
	splitter := p.Splitter(c.Name.Field)
	var scratch []byte
	for i, m := range messages {
		splitter.Split(nil, []byte(m))
		want := splitter.Value(0)
		switch c.Name.Fixed {
		case field.Level:
			want = columns.LevelValue(record.Level(i % record.Levels))
		case field.Source:
			want = message.Value{Kind: message.String, Text: []byte(fmt.Sprint("app-", i%3))}
		}
		var got message.Value
		got, scratch = page.Value(i, scratch[:0])
		if got.Kind != want.Kind || !bytes.Equal(got.Text, want.Text) {
			t.Fatalf("%s of %q is %d %q, want %d %q", c.Name, m, got.Kind, got.Text, want.Kind, want.Text)
		}
		bounds(t, want, c.Least[k], c.Greatest[k])
	}
}

// bounds checks that a number is not outside the bounds of its page.
func bounds(t *testing.T, v message.Value, least, greatest string) {
	t.Helper()
	n, ok := v.Decimal()
	if !ok {
		return
	}
	low, first := exact.Parse([]byte(least))
	high, last := exact.Parse([]byte(greatest))
	if !first || !last || n.Compare(low) < 0 || n.Compare(high) > 0 {
		t.Fatalf("%s is outside %q to %q", v.Text, least, greatest)
	}
}

// differentNumbers are numbers of a format of an integer.
func differentNumbers(n int, format string) (values []message.Value) {
	for i := range n {
		values = append(values, message.Value{Kind: message.Number, Text: fmt.Appendf(nil, format, i)})
	}
	return values
}
