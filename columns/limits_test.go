package columns_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"logstow/columns"
	"logstow/field"
	"logstow/message"
)

// built are the columns of blocks of so many records, stored in a part of their text, and what is stored.
func built(blocks, records int, part float64, opts columns.Options, message func(block, i int) string) (all []columns.Column, stored int64) {
	b := columns.NewBuilder("", opts)
	for block := range blocks {
		messages := make([]string, records)
		for i := range messages {
			messages[i] = message(block, i)
		}
		start := int64(block) * 1e9
		body, n := text(start, 1e5, messages...)
		b.AddBlock(new(columns.Scratch), body, n, start, int64(part*float64(len(body))))
		stored += int64(part * float64(len(body)))
	}
	return b.Columns(), stored
}

// names are the names of columns, those of fixed fields first.
func names(all []columns.Column) (names []string) {
	for _, c := range all {
		names = append(names, c.Name.String())
	}
	return names
}

// size is the size of pages in bytes.
func size(all []columns.Column) (n int64) {
	for _, c := range all {
		for _, p := range c.Pages {
			n += int64(len(p))
		}
	}
	return n
}

// fields is a message of fields, each a digit.
func fields(prefix string, n, i int) string {
	var b strings.Builder
	for k := range n {
		fmt.Fprintf(&b, "%s%03d=%d ", prefix, k, (i+k)%3)
	}
	return b.String()
}

func TestNumberOfColumns(t *testing.T) {
	t.Parallel()
	var named []string
	for i := range 40 {
		named = append(named, fmt.Sprintf("f%03d", 60+i))
	}
	message := func(_, i int) string { return fields("f", 100, i) }
	all, _ := built(2, 300, 10, columns.Options{}, message)
	if len(all) != 32 || !slices.Equal(names(all)[:4], []string{"time", "source", "level", "f000"}) {
		t.Errorf("%d columns: %v", len(all), names(all))
	}
	all, _ = built(2, 300, 10, columns.Options{Named: named}, message)
	if len(all) != columns.MaxColumns || !slices.Contains(names(all), "f091") || slices.Contains(names(all), "f092") {
		t.Errorf("%d columns: %v", len(all), names(all))
	}
}

// Columns take at most 5% of what is stored, with named ones 15%.
func TestShareOfColumns(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	message := func(_, _ int) string {
		return fmt.Sprintf(`{"few":%d,"many":%d,"more":%d,"most":%d,"id":"%x"}`, rnd.IntN(3), rnd.IntN(300), rnd.IntN(5000), rnd.IntN(1e6), rnd.Uint64())
	}
	for _, c := range []struct {
		part  float64 // of the text that is stored
		named []string
		want  []string
		most  float64
	}{
		{1, nil, []string{"few", "many", "more"}, 0.05},
		{0.3, nil, []string{"few"}, 0.05},
		{0.2, []string{"many"}, []string{"few", "many"}, 0.15},
		{0.2, []string{"many", "most", "id"}, []string{"few", "many"}, 0.15},
		{1, []string{"most", "id"}, []string{"few", "id", "many", "more", "most"}, 0.15},
		{0.02, []string{"many"}, nil, 0.15},
	} {
		all, stored := built(10, 2000, c.part, columns.Options{Named: c.named}, message)
		got := slices.DeleteFunc(names(all), field.IsFixed)
		if !slices.Equal(got, c.want) || float64(size(all)) > c.most*float64(stored) {
			t.Errorf("%v named, %v of the text stored: columns %v of %d bytes, %d stored", c.named, c.part, got, size(all), stored)
		}
	}
}

// Fields of few records, arrays, objects, long texts and identifiers get no columns.
func TestFieldsWithoutColumns(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", columns.MaxText)
	message := func(block, i int) string {
		m := fmt.Sprintf(`{"id":"%d-%d","list":[1],"object":{"in":%d},"fits":"%s","long":"%sx"`, block, i, i%3, long, long)
		if i%19 == 0 {
			m += `,"some":1`
		}
		if i%21 == 0 {
			m += `,"rare":1`
		}
		if block > 0 {
			m += `,"late":1`
		}
		return m + "}"
	}
	all, _ := built(5, 1000, 1, columns.Options{}, message)
	if got, want := names(all)[3:], []string{"fits", "object.in", "some"}; !slices.Equal(got, want) {
		t.Errorf("columns %v, want %v", got, want)
	}
	// A column without a page for one of its blocks is there for the others.
	all, _ = built(5, 1000, 10, columns.Options{Named: []string{"id", "late"}}, func(block, i int) string {
		if block == 2 { // many texts that are too long for a page of many values
			return strings.Replace(message(block, i), `"id":"`, `"id":"`+strings.Repeat("y", columns.MaxWideText), 1)
		}
		return message(block, i%200)
	})
	i := slices.Index(names(all), "id")
	if i < 0 {
		t.Fatalf("columns %v", names(all))
	}
	for block, page := range all[i].Pages {
		if (page == nil) != (block == 2) {
			t.Errorf("block %d has a page of %d bytes", block, len(page))
		}
	}
	if late := all[slices.Index(names(all), "late")]; len(late.Pages[0]) != 2 || len(late.Pages[1]) == 0 {
		t.Errorf("pages of a field that comes late: %x", late.Pages)
	}
}

// A block with a number that is too long for the bounds has no page.
func TestNumberTooLongForBounds(t *testing.T) {
	t.Parallel()
	all, _ := built(2, 1000, 10, columns.Options{}, func(block, i int) string {
		return fmt.Sprintf(`{"long":%s}`, strings.Repeat("1", columns.MaxNumber+block*(i%2)))
	})
	c := all[slices.Index(names(all), "long")]
	if c.Pages[0] == nil || len(c.Least[0]) != columns.MaxNumber {
		t.Errorf("numbers of %d digits: page %x", columns.MaxNumber, c.Pages[0])
	}
	if c.Pages[1] != nil || c.Least[1] != "" || c.Greatest[1] != "" {
		t.Errorf("one digit more: page %x, numbers from %s to %s", c.Pages[1], c.Least[1], c.Greatest[1])
	}
}

// Few numbers of other decimal places do not take a block its page.
func TestNumbersOfOtherPlaces(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	all, _ := built(1, 5000, 10, columns.Options{}, func(_, i int) string {
		fixed, trimmed := fmt.Sprintf("%.2f", rnd.Float64()*1e4), fmt.Sprint(float64(rnd.IntN(1e6))/100)
		switch i {
		case 100:
			fixed = "0"
		case 200:
			fixed, trimmed = "0.12345", "-1.50"
		}
		return fmt.Sprintf(`{"fixed":%s,"trimmed":%s}`, fixed, trimmed)
	})
	if got, want := names(all)[3:], []string{"fixed", "trimmed"}; !slices.Equal(got, want) {
		t.Errorf("columns %v, want %v", got, want)
	}
}

// A text that is no record leaves its block without pages.
func TestTextThatIsNoRecord(t *testing.T) {
	t.Parallel()
	body, n := text(0, 1, "a=1", "a=2")
	for name, c := range map[string]struct {
		text    []byte
		records int
	}{
		"none":           {[]byte("not a record\n"), 1},
		"another number": {body, n + 1},
	} {
		b := columns.NewBuilder("", columns.Options{})
		b.AddBlock(new(columns.Scratch), c.text, c.records, 0, 10_000)
		if all := b.Columns(); len(all) != 0 {
			t.Errorf("%s: columns %v", name, names(all))
		}
		b.AddBlock(new(columns.Scratch), body, n, 0, 10_000)
		for _, c := range b.Columns() {
			if c.Pages[0] != nil || c.Pages[1] == nil {
				t.Errorf("%s: pages %x", name, c.Pages)
			}
		}
	}
}

func TestDecodeRejects(t *testing.T) {
	t.Parallel()
	for name, page := range map[string][]byte{
		"empty":                   {},
		"no entries":              {0},
		"too many entries":        {0x81, 2},
		"unknown kind":            {1, 6},
		"two planes":              {2, 7, 7, 0, 1, 0},
		"text is cut":             {1, 4, 2, 'a'},
		"text is too long":        append([]byte{1, 4, 0x81, 0x20}, make([]byte, 5000)...),
		"a length is too long":    {1, 4, 0x81, 0, 'a'},
		"no ids":                  {2, 0, 1},
		"ids are cut":             {2, 0, 1, 0, 1},
		"bytes behind":            {1, 0, 0},
		"unknown form of numbers": {1, 7, 4, 0, 0, 0},
		"too many places":         {1, 7, 0, 10, 0, 0},
		"too many planes":         {1, 7, 0, 0, 0, 9, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0},
		"a plane is cut":          {1, 7, 0, 0, 0, 1, 0, 1},
		"unknown form of a plane": {1, 7, 0, 0, 0, 1, 4, 1, 1},
		"least is out of range":   {1, 7, 0, 0, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1, 0},
		"a number overflows":      {1, 7, 0, 0, 2, 8, 1, 0xff, 1, 0xff, 1, 0xff, 1, 0xff, 1, 0xff, 1, 0xff, 1, 0xff, 1, 0xff},
		"no numbers":              {2, 7, 0, 0, 1, 3, 0, 0, 0, 0},
	} {
		if p, err := columns.DecodePage(page, 2); err == nil {
			t.Errorf("%s: decoded as %+v", name, p)
		}
	}
	if _, err := columns.DecodePage([]byte{1, 0}, 0); err == nil {
		t.Error("a page of no records is decoded")
	}
	for name, page := range map[string][]byte{
		"empty": {}, "too few": {0, 0, 0}, "too many": {0, 0, 2}, "no difference": {0, 0, 0, 0, 0}, "bytes behind": {0, 0, 1, 0},
		"beyond 32 bits": {0, 0, 0, 0x80, 0x80, 0x80, 0x80, 0x10, 0}, "cut": {0, 0}, "unknown form": {1, 0, 1}, "compressed: too long": {2, 21, 1, 2, 3}, "compressed: no table": {2, 4},
	} {
		if runs, err := columns.DecodeSeconds(page, 2); err == nil {
			t.Errorf("%s: decoded as %v", name, runs)
		} else if !strings.HasPrefix(err.Error(), columns.ErrMalformed.Error()+": ") {
			t.Errorf("%s: error %q", name, err)
		}
	}
}

// What a builder keeps is bounded by what is stored, whatever the fields.
func TestMemoryOfBuilder(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	var named []string
	for i := range columns.MaxNamed {
		named = append(named, fmt.Sprintf("n%d", i))
	}
	b := columns.NewBuilder("", columns.Options{Named: named})
	stored, records := int64(0), 500
	for block := range 64 {
		messages := make([]string, records)
		for i := range messages {
			var m strings.Builder
			for k := range 64 {
				fmt.Fprintf(&m, "n%d=%d ", k, rnd.IntN(1e6))
			}
			messages[i] = m.String()
		}
		body, n := text(int64(block)*1e9, 1e5, messages...)
		b.AddBlock(new(columns.Scratch), body, n, int64(block)*1e9, int64(len(body)/5))
		if stored += int64(len(body) / 5); block >= 3 && b.Kept()*5 > stored*2 {
			t.Fatalf("%d blocks of %d bytes: pages of %d bytes are kept", block+1, stored, b.Kept())
		}
	}
}

// A column without a page in more than half of the first blocks is given up.
func TestGivenUp(t *testing.T) {
	t.Parallel()
	few := func(of int, block, i int) string { // different texts in all but the first blocks
		if block < of {
			i %= 3
		}
		return fmt.Sprintf("x%d", i)
	}
	long := strings.Repeat("y", columns.MaxWideText) // too long for a page of many values
	all, _ := built(4, 600, 10, columns.Options{Named: []string{"named"}}, func(block, i int) string {
		return fmt.Sprintf("half=%s one=%s named=%s all=%s", few(2, block, i), few(1, block, i), few(1, block, i)+long, few(4, block, i))
	})
	if got, want := names(all)[3:], []string{"all", "half"}; !slices.Equal(got, want) {
		t.Errorf("columns %v, want %v", got, want)
	}
	three, _ := built(3, 600, 10, columns.Options{}, func(block, i int) string { return "one=" + few(1, block, i) })
	if got, want := names(three)[3:], []string{"one"}; !slices.Equal(got, want) {
		t.Errorf("columns of three blocks %v, want %v", got, want)
	}
}

// A named column has pages of as many values as a block has records, and of all kinds.
func TestManyValues(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{columns.MaxEntries + 1, 1000, 70_000} {
		values := make([]message.Value, n)
		different := map[string]bool{}
		for i := range values {
			v := message.Value{Kind: message.String, Text: fmt.Appendf(nil, "user-%d", rnd.IntN(2*n))}
			switch rnd.IntN(20) {
			case 0:
				v = message.Value{}
			case 1:
				v = message.Value{Kind: message.Number, Text: fmt.Append(nil, rnd.IntN(2*n))}
			case 2:
				v.Text = bytes.Repeat([]byte("z"), rnd.IntN(columns.MaxWideText+1))
			case 3:
				v.Kind = message.Bare
			}
			values[i] = v
			different[fmt.Sprint(v.Kind, string(v.Text))] = true
		}
		page, least, greatest := columns.EncodePage(values, true)
		if fits := len(different) <= columns.MaxWide; fits != (page != nil) {
			t.Fatalf("%d different of %d values: a page of %d bytes", len(different), n, len(page))
		} else if !fits {
			continue
		}
		if other, _, _ := columns.EncodePage(values, false); other != nil && len(different) > columns.MaxEntries {
			t.Errorf("%d values fit a column that is not named", n)
		}
		var d columns.Decoder
		for range 2 { // also with memory that was used before
			d.Reset()
			p, err := d.Page(page, n)
			if err != nil {
				t.Fatal(err)
			}
			if low, high := p.Bounds(); len(p.Entries) != len(different) || low != least || high != greatest {
				t.Errorf("%d entries from %s to %s, want %d from %s to %s", len(p.Entries), low, high, len(different), least, greatest)
			}
			for i, want := range values {
				if got, _ := p.Value(i, nil); got.Kind != want.Kind || string(got.Text) != string(want.Text) {
					t.Fatalf("record %d is %v, want %v", i, got, want)
				}
			}
		}
		for _, cut := range []int{0, 1, 2, 3, len(page) / 2, len(page) - 1} {
			if _, err := columns.DecodePage(page[:cut], n); err == nil {
				t.Errorf("%d of %d bytes are a page", cut, len(page))
			}
		}
		if _, err := columns.DecodePage(page, columns.MaxEntries); err == nil {
			t.Error("a page has more entries than records")
		}
	}
	long := make([]message.Value, columns.MaxEntries+1)
	for i := range long {
		long[i] = message.Value{Kind: message.String, Text: fmt.Appendf(nil, "%d%s", i, strings.Repeat("x", columns.MaxWideText))}
	}
	if page, _, _ := columns.EncodePage(long, true); page != nil {
		t.Error("many long texts have a page")
	}
}
