package aggregate

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"logstow/field"
)

// The reference computes what an aggregation should, in the most obvious way: all records of a group in a
// list, numbers as big.Rat.

// refRecord is a record by the names of fields and conditions.
type refRecord struct {
	time     int64
	sequence string
	values   map[string]field.Value
	holds    map[string]bool
}

// refValue is a value as text, with its kind and, for a number, its value.
type refValue struct {
	kind ValueKind
	text string
	rat  *big.Rat
}

func (v refValue) String() string {
	if v.rat != nil && v.kind != Float {
		return fmt.Sprint(v.kind, v.rat.RatString())
	}
	return fmt.Sprint(v.kind, v.text)
}

func refNumber(rat *big.Rat) refValue {
	kind := Decimal
	if rat.IsInt() && rat.Num().IsInt64() {
		kind = Integer
	}
	return refValue{kind: kind, rat: rat}
}

func refFloat(x float64) refValue {
	text := strconv.FormatFloat(x, 'g', -1, 64)
	rat, _ := new(big.Rat).SetString(text)
	return refValue{kind: Float, text: text, rat: rat}
}

func refInt(n int) refValue { return refNumber(new(big.Rat).SetInt64(int64(n))) }

// actual is a value of a result as the reference has it.
func actual(v Value) refValue {
	text := string(v.Append(nil))
	switch v.Kind {
	case Integer, Decimal:
		rat, ok := new(big.Rat).SetString(text)
		if !ok {
			return refValue{kind: v.Kind, text: "no number: " + text}
		}
		return refValue{kind: v.Kind, rat: rat}
	case Float:
		return refFloat(v.Float)
	case Time:
		return refValue{kind: Time, rat: new(big.Rat).SetInt64(v.Int)}
	}
	return refValue{kind: v.Kind, text: text}
}

func refNumeric(v field.Value) *big.Rat {
	if _, ok := v.Decimal(); !ok {
		return nil
	}
	rat, ok := new(big.Rat).SetString(string(v.Text))
	if !ok || rat.Sign() != 0 && (magnitude(rat).Cmp(tenTo(300)) >= 0 || magnitude(rat).Cmp(tenTo(-300)) < 0) {
		return nil
	}
	return rat
}

func magnitude(x *big.Rat) *big.Rat { return new(big.Rat).Abs(x) }

func tenTo(n int) *big.Rat {
	x := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(n, -n))), nil))
	if n < 0 {
		x.Inv(x)
	}
	return x
}

// refBucket is the bucket of a number: the greatest lower bound that is at most it.
func refBucket(x, width *big.Rat) *big.Rat {
	if width != nil {
		q := new(big.Rat).Quo(x, width)
		return q.Mul(new(big.Rat).SetInt(new(big.Int).Div(q.Num(), q.Denom())), width)
	}
	if x.Sign() == 0 {
		return x
	}
	var best *big.Rat
	for e := -310; e <= 310; e++ {
		if f, _ := magnitude(x).Float64(); math.Abs(math.Log10(f)-float64(e)) > 3 && f != 0 {
			continue
		}
		for _, lead := range []int64{1, 2, 5, -1, -2, -5} {
			bound := new(big.Rat).Mul(new(big.Rat).SetInt64(lead), tenTo(e))
			if bound.Cmp(x) <= 0 && (best == nil || bound.Cmp(best) > 0) && bound.Sign() == x.Sign() {
				best = bound
			}
		}
	}
	return best
}

// plain is a number in decimal notation.
func plain(x *big.Rat) string {
	text := x.FloatString(400)
	text = strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
	if magnitude(x).Cmp(tenTo(-6)) < 0 && x.Sign() != 0 {
		digits := strings.TrimLeft(strings.TrimLeft(text, "-0."), "0")
		exponent := len(digits) - len(text[strings.IndexByte(text, '.')+1:]) - 1
		text = digits[:1]
		if len(digits) > 1 {
			text += "." + digits[1:]
		}
		text += "e" + strconv.Itoa(exponent)
		if x.Sign() < 0 {
			text = "-" + text
		}
	}
	return text
}

// refGroup is a group of records of one key; nil values are missing.
type refGroup struct {
	keys    []*string // of By, of the step nil
	step    int64
	records []*refRecord
}

func name(f Field) string { return fmt.Sprint(f) }

func (s *Spec) refKey(r *refRecord) (g refGroup) {
	for _, k := range s.By {
		if !k.Step.IsZero() {
			g.step = k.Step.Start(r.time, s.Zone)
			g.keys = append(g.keys, nil)
			continue
		}
		v := r.values[name(k.Field)]
		text := string(v.Text)
		switch {
		case k.Bucket:
			x := refNumeric(v)
			var width *big.Rat
			if k.Width.Sign() > 0 {
				width, _ = new(big.Rat).SetString(string(k.Width.Append(nil)))
			}
			if x == nil {
				g.keys = append(g.keys, nil)
				continue
			}
			text = plain(refBucket(x, width))
		case v.Kind == field.Missing || v.Kind == field.Null:
			g.keys = append(g.keys, nil)
			continue
		}
		g.keys = append(g.keys, &text)
	}
	return g
}

func show(p *string) string {
	if p == nil {
		return "missing"
	}
	return strconv.Quote(*p)
}

// id identifies the part of a key that uses the given keys of By, and the step.
func (g *refGroup) id(use func(key int) bool, step bool) string {
	var b strings.Builder
	for i, k := range g.keys {
		if use(i) {
			b.WriteString(show(k) + ",")
		}
	}
	if step {
		b.WriteString(strconv.FormatInt(g.step, 10))
	}
	return b.String()
}

// compute is a function of records.
func (s *Spec) compute(f Function, records []*refRecord, total int, seconds *big.Rat) refValue {
	n := len(records)
	rounded := func(x *big.Rat) refValue {
		f, _ := x.Float64()
		return refFloat(f)
	}
	switch f.Kind {
	case Count, Ratio:
		if f.Expr == "" {
			return refInt(n)
		}
		held := 0
		for _, r := range records {
			if r.holds[f.Expr] {
				held++
			}
		}
		if f.Kind == Count {
			return refInt(held)
		}
		return rounded(big.NewRat(int64(held), int64(n)))
	case Rate:
		return rounded(new(big.Rat).Quo(new(big.Rat).SetInt64(int64(n)), seconds))
	case Share:
		return rounded(big.NewRat(int64(n), int64(total)))
	case Distinct:
		set := map[string]bool{}
		for _, r := range records {
			if v := r.values[name(f.Field)]; v.Kind != field.Missing && v.Kind != field.Null {
				set[string(v.Text)] = true
			}
		}
		return refInt(len(set))
	case First, Last:
		var best *refRecord
		for _, r := range records {
			v := r.values[name(f.Field)]
			if v.Kind == field.Missing || v.Kind == field.Null {
				continue
			}
			c := 0
			if best != nil {
				c = cmp.Or(cmp.Compare(r.time, best.time), cmp.Compare(r.sequence, best.sequence))
			}
			if best == nil || c < 0 && f.Kind == First || c > 0 && f.Kind == Last {
				best = r
			}
		}
		if best == nil {
			return refValue{}
		}
		v := best.values[name(f.Field)]
		text := string(v.Text)
		return refTyped(&text, v.Kind == field.String)
	}
	var numbers []*big.Rat
	sum, squares := new(big.Rat), new(big.Rat)
	for _, r := range records {
		if x := refNumeric(r.values[name(f.Field)]); x != nil {
			numbers = append(numbers, x)
			sum.Add(sum, x)
			squares.Add(squares, new(big.Rat).Mul(x, x))
		}
	}
	if len(numbers) == 0 {
		return refValue{}
	}
	slices.SortFunc(numbers, (*big.Rat).Cmp)
	count := new(big.Rat).SetInt64(int64(len(numbers)))
	mean := new(big.Rat).Quo(sum, count)
	switch f.Kind {
	case Sum:
		if sum.IsInt() {
			return refNumber(sum)
		}
		return rounded(sum)
	case Avg:
		return rounded(mean)
	case Min:
		return refNumber(numbers[0])
	case Max:
		return refNumber(numbers[len(numbers)-1])
	case Deviation:
		variance := squares.Quo(squares, count)
		variance.Sub(variance, mean.Mul(mean, mean))
		x := new(big.Float).SetPrec(4000).SetRat(variance)
		d, _ := x.Sqrt(x).Float64()
		return refFloat(d)
	}
	rank := new(big.Rat).Mul(new(big.Rat).SetFrac(new(big.Int).SetUint64(f.Q.Num), new(big.Int).SetUint64(f.Q.Den)), count)
	ceil := new(big.Int).Add(rank.Num(), new(big.Int).Sub(rank.Denom(), big.NewInt(1)))
	return refNumber(numbers[max(ceil.Quo(ceil, rank.Denom()).Int64(), 1)-1])
}

// refTyped is the typed value of a key.
func refTyped(text *string, isString bool) refValue {
	if text == nil {
		return refValue{}
	}
	if !isString {
		if *text == "true" || *text == "false" {
			return refValue{kind: Bool, text: *text}
		}
		if x := refNumeric(field.Value{Kind: field.Number, Text: []byte(*text)}); x != nil && plain(x) == *text {
			return refNumber(x)
		}
	}
	return refValue{kind: Text, text: *text}
}

// refRow is a row of the result; sorting are the functions that it is sorted by.
type refRow struct {
	refGroup
	typed   []refValue // of By
	sorting []refValue
	values  []refValue
}

func compareRef(a, b refValue, descending bool) int {
	switch {
	case a.kind == Missing || b.kind == Missing:
		return cmp.Compare(btoi(a.kind == Missing), btoi(b.kind == Missing)) // last
	case (a.rat != nil) != (b.rat != nil):
		if (a.rat != nil) != descending {
			return -1
		}
		return 1
	}
	c := strings.Compare(a.text, b.text)
	if a.rat != nil {
		c = a.rat.Cmp(b.rat)
	}
	if descending {
		return -c
	}
	return c
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// compareRows compares by the order of the Spec; without the step for groups over the whole range.
func (s *Spec) compareRows(a, b *refRow, stepped bool) int {
	for _, o := range s.Sort {
		var c int
		switch {
		case o.Function >= 0:
			c = compareRef(a.sorting[o.Function], b.sorting[o.Function], o.Descending)
		case s.By[o.Key].Step.IsZero():
			c = compareRef(a.typed[o.Key], b.typed[o.Key], o.Descending)
		case stepped && o.Descending:
			c = cmp.Compare(b.step, a.step)
		case stepped:
			c = cmp.Compare(a.step, b.step)
		}
		if c != 0 {
			return c
		}
	}
	if stepped && a.step != b.step {
		return cmp.Compare(a.step, b.step)
	}
	if c := compareRef(a.sorting[0], b.sorting[0], true); c != 0 {
		return c
	}
	for i := range a.keys {
		if i == s.Pivot {
			continue
		}
		x, y := a.keys[i], b.keys[i]
		switch {
		case x == nil && y == nil:
		case x == nil:
			return -1
		case y == nil:
			return 1
		default:
			if c := bytes.Compare([]byte(*x), []byte(*y)); c != 0 {
				return c
			}
		}
	}
	return 0
}

// reference are the header and the rows of a Spec.
func (s *Spec) reference(records []*refRecord) []string {
	step := slices.IndexFunc(s.By, func(k Key) bool { return !k.Step.IsZero() })
	isKey := func(i int) bool { return i != step && i != s.Pivot }
	others := 0
	for i := range s.By {
		if isKey(i) {
			others++
		}
	}
	from, to := s.From, s.To
	if from == 0 && to == 0 && len(records) > 0 {
		from, to = math.MaxInt64, math.MinInt64
		for _, r := range records {
			from, to = min(from, r.time), max(to, r.time+1)
		}
	}
	split := func(records []*refRecord, use func(int) bool, step bool) map[string]*refRow {
		rows := map[string]*refRow{}
		for _, r := range records {
			g := s.refKey(r)
			id := g.id(use, step)
			if rows[id] == nil {
				rows[id] = &refRow{refGroup: g, typed: make([]refValue, len(s.By))}
			}
			rows[id].records = append(rows[id].records, r)
		}
		return rows
	}
	seconds := func(g *refGroup, stepped bool) *big.Rat {
		a, b := from, to
		if stepped {
			a, b = max(a, g.step), min(b, s.By[step].Step.End(g.step, s.Zone))
		}
		return big.NewRat(b-a, 1e9)
	}
	finish := func(row *refRow, stepped bool) {
		for i, k := range s.By {
			isString := slices.ContainsFunc(row.records, func(r *refRecord) bool { return !k.Bucket && r.values[name(k.Field)].Kind == field.String })
			row.typed[i] = refTyped(row.keys[i], isString)
		}
		for _, f := range s.Compute {
			row.sorting = append(row.sorting, s.compute(f, row.records, len(records), seconds(&row.refGroup, stepped)))
		}
	}
	ranks := s.Limit > 0 && step >= 0 && others > 0
	if ranks {
		groups := split(records, isKey, false)
		var order []*refRow
		for _, g := range groups {
			finish(g, false)
			order = append(order, g)
		}
		slices.SortFunc(order, func(a, b *refRow) int { return s.compareRows(a, b, false) })
		total := len(records)
		var kept []*refRecord
		for _, g := range order[:min(len(order), s.Limit)] {
			kept = append(kept, g.records...)
		}
		defer func(n int) { _ = n }(total)
		return s.rows(kept, len(records), step, others, from, to, split, finish, isKey)
	}
	return s.rows(records, len(records), step, others, from, to, split, finish, isKey)
}

func (s *Spec) rows(records []*refRecord, total, step, others int, from, to int64,
	split func([]*refRecord, func(int) bool, bool) map[string]*refRow, finish func(*refRow, bool), isKey func(int) bool,
) []string {
	var columns []*string
	if s.Pivot >= 0 {
		seen := map[string]bool{}
		for _, r := range records {
			k := s.refKey(r).keys[s.Pivot]
			if !seen[show(k)] {
				seen[show(k)] = true
				columns = append(columns, k)
			}
		}
		slices.SortFunc(columns, func(a, b *string) int {
			if a == nil || b == nil {
				return cmp.Compare(btoi(a != nil), btoi(b != nil))
			}
			return strings.Compare(*a, *b)
		})
	}
	empty := make([]refValue, len(s.Compute))
	for i, f := range s.Compute {
		if f.Kind == Count {
			empty[i] = refInt(0)
		}
	}
	rows := split(records, isKey, step >= 0)
	if step >= 0 && others == 0 {
		a, b := from, to
		if s.From == 0 && s.To == 0 {
			a, b = math.MaxInt64, math.MinInt64
			for _, row := range rows {
				a, b = min(a, row.step), max(b, row.step)
			}
		}
		for at := a; at < b && len(rows) < 1_000_000; at = s.By[step].Step.End(s.By[step].Step.Start(at, s.Zone), s.Zone) {
			g := refGroup{step: s.By[step].Step.Start(at, s.Zone), keys: make([]*string, len(s.By))}
			if id := g.id(isKey, true); rows[id] == nil {
				rows[id] = &refRow{refGroup: g, typed: make([]refValue, len(s.By)), sorting: empty}
			}
		}
	}
	if len(s.By) == 0 && len(rows) == 0 {
		rows[""] = &refRow{sorting: empty}
	}
	var order []*refRow
	for _, row := range rows {
		if len(row.records) > 0 {
			finish(row, step >= 0)
		}
		if s.Pivot < 0 {
			row.values = row.sorting
		}
		for _, column := range columns {
			var cell []*refRecord
			for _, r := range row.records {
				if show(s.refKey(r).keys[s.Pivot]) == show(column) {
					cell = append(cell, r)
				}
			}
			if len(cell) == 0 {
				row.values = append(row.values, empty...)
				continue
			}
			c := &refRow{refGroup: row.refGroup, typed: make([]refValue, len(s.By))}
			c.records = cell
			finish(c, step >= 0)
			row.values = append(row.values, c.sorting...)
		}
		order = append(order, row)
	}
	_ = total
	slices.SortFunc(order, func(a, b *refRow) int { return s.compareRows(a, b, step >= 0) })
	if s.Limit > 0 && (step < 0 || others == 0) {
		order = order[:min(len(order), s.Limit)]
	}
	var out []string
	for _, c := range columns {
		out = append(out, "column "+show(c))
	}
	for _, row := range order {
		var b strings.Builder
		for i := range s.By {
			switch i {
			case step:
				fmt.Fprint(&b, refValue{kind: Time, rat: new(big.Rat).SetInt64(row.step)}, " ")
			case s.Pivot:
			default:
				fmt.Fprint(&b, row.typed[i], " ")
			}
		}
		out = append(out, b.String()+"|"+fmt.Sprint(row.values))
	}
	return out
}
