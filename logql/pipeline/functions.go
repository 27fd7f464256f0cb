package pipeline

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"text/template"
	"time"
	"unicode"
	"unicode/utf8"
)

// lineFunc and timestampFunc are the functions of the current record.
const (
	lineFunc      = "__line__"
	timestampFunc = "__timestamp__"
)

// functions returns the functions of templates, with the names and parameter order that Grafana documents for Loki. b
// limits their work. p is nil if a template is only checked.
func functions(b *budget, p *Processor) map[string]any {
	regexps := &regexpFunctions{b: b}
	f := map[string]any{
		loopFunc:      b.loop,
		callFunc:      b.call,
		returnFunc:    b.returns,
		lineFunc:      func() (string, error) { return b.text(string(p.line)) },
		timestampFunc: func() time.Time { return time.Unix(0, p.at).UTC() },

		"regexReplaceAll":        regexps.replaceAll,
		"regexReplaceAllLiteral": regexps.replaceAllLiteral,
		"count":                  regexps.count,

		"fromJson": func(s string) (any, error) {
			var v any
			if err := b.charge(s); err != nil {
				return nil, err
			}
			_ = json.Unmarshal([]byte(s), &v) // as in Loki, it is nothing then, printed as <no value>
			return v, nil
		},
		"default": func(fallback any, given ...any) any {
			if len(given) == 0 || isEmpty(given[0]) {
				return fallback
			}
			return given[0]
		},
	}
	textFunctions(f, b)
	numberFunctions(f)
	decimalFunctions(f, b)
	timeFunctions(f, b)
	printFunctions(f, b)
	return f
}

// isEmpty reports whether a value is nothing, zero, or a list or map without elements. A time is never empty.
func isEmpty(v any) bool {
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Slice, reflect.Map:
		return r.Len() == 0
	case reflect.Struct:
		return false
	default:
		return r.IsZero()
	}
}

func textFunctions(f map[string]any, b *budget) {
	one := func(names string, do func(s string) string) {
		for name := range strings.FieldsSeq(names) {
			f[name] = func(s string) (string, error) {
				if err := b.charge(s); err != nil {
					return "", err
				}
				return b.text(do(s))
			}
		}
	}
	two := func(names string, do func(a, s string) string) {
		for name := range strings.FieldsSeq(names) {
			f[name] = func(a, s string) (string, error) {
				if err := b.charge(a, s); err != nil {
					return "", err
				}
				return b.text(do(a, s))
			}
		}
	}
	test := func(name string, do func(a, s string) bool) {
		f[name] = func(a, s string) (bool, error) { return do(a, s), b.charge(a, s) }
	}
	one("ToLower lower", strings.ToLower)
	one("ToUpper upper", strings.ToUpper)
	one("Title title", titleCase)
	one("trim TrimSpace", strings.TrimSpace)
	one("urlencode", url.QueryEscape)
	one("b64enc", func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) })
	two("trimAll", func(cut, s string) string { return strings.Trim(s, cut) })
	two("trimPrefix", func(prefix, s string) string { return strings.TrimPrefix(s, prefix) })
	two("trimSuffix", func(suffix, s string) string { return strings.TrimSuffix(s, suffix) })
	two("Trim", strings.Trim)
	two("TrimLeft", strings.TrimLeft)
	two("TrimRight", strings.TrimRight)
	two("TrimPrefix", strings.TrimPrefix)
	two("TrimSuffix", strings.TrimSuffix)
	test("contains", func(sub, s string) bool { return strings.Contains(s, sub) })
	test("hasPrefix", func(prefix, s string) bool { return strings.HasPrefix(s, prefix) })
	test("hasSuffix", func(suffix, s string) bool { return strings.HasSuffix(s, suffix) })

	fallible := func(name string, do func(s string) (string, error)) {
		f[name] = func(s string) (string, error) {
			if err := b.charge(s); err != nil {
				return "", err
			}
			text, err := do(s)
			if err != nil {
				return "", err
			}
			return b.text(text)
		}
	}
	fallible("urldecode", url.QueryUnescape)
	fallible("b64dec", func(s string) (string, error) {
		text, err := base64.StdEncoding.DecodeString(s)
		return string(text), err
	})
	replace := func(s, old, text string, n int) (string, error) {
		if err := errors.Join(b.charge(s, old), b.fits(strings.Count(s, old), len(text)-len(old))); err != nil {
			return "", err
		}
		return b.text(strings.Replace(s, old, text, n))
	}
	f["Replace"] = replace
	f["replace"] = func(old, text, s string) (string, error) { return replace(s, old, text, -1) }
	repeat := func(n int, s string) (string, error) {
		if err := errors.Join(notNegative(n), b.fits(n, len(s))); err != nil {
			return "", err
		}
		return b.text(strings.Repeat(s, n))
	}
	f["repeat"] = repeat
	indent := func(n int, s string) (string, error) {
		if err := errors.Join(notNegative(n), b.fits(strings.Count(s, "\n")+1, n)); err != nil {
			return "", err
		}
		blanks := strings.Repeat(" ", n)
		return b.text(blanks + strings.ReplaceAll(s, "\n", "\n"+blanks))
	}
	f["indent"] = indent
	f["nindent"] = func(n int, s string) (string, error) {
		text, err := indent(n, s)
		return "\n" + text, err
	}
	f["substr"] = func(start, end int, s string) (string, error) {
		part, err := substr(start, end, s)
		if err != nil {
			return "", err
		}
		return b.text(part)
	}
	f["trunc"] = func(n int, s string) (string, error) {
		if n < 0 {
			return b.text(s[max(0, len(s)+n):])
		}
		return b.text(s[:min(n, len(s))])
	}
	f["alignLeft"] = func(n int, s string) (string, error) { return b.align(n, s, true) }
	f["alignRight"] = func(n int, s string) (string, error) { return b.align(n, s, false) }
}

// titleCase is a text with words that start with a capital letter.
func titleCase(s string) string {
	before := ' '
	return strings.Map(func(r rune) rune {
		starts := !unicode.IsLetter(before) && !unicode.IsDigit(before) && before != '_' && before != '\''
		before = r
		if starts {
			return unicode.ToTitle(r)
		}
		return r
	}, s)
}

func notNegative(n int) error {
	if n < 0 {
		return fmt.Errorf("negative count %d", n)
	}
	return nil
}

// substr is s[start:end] by bytes; a negative start is the text's, and after a start that is not, a negative or too large end is the
// text's.
func substr(start, end int, s string) (string, error) {
	if start >= 0 && (end < 0 || end > len(s)) {
		end = len(s)
	}
	if start = max(start, 0); start > end || end > len(s) {
		return "", fmt.Errorf("no substring from %d to %d in a text of %d bytes", start, end, len(s))
	}
	return s[start:end], nil
}

// align makes a text n characters long: it adds blanks, or removes characters, at the right end if left is set, otherwise at
// the left end.
func (b *budget) align(n int, s string, left bool) (string, error) {
	length := utf8.RuneCountInString(s)
	if n < 0 || n == length {
		return b.text(s)
	}
	if err := b.fits(n, 1); err != nil {
		return "", err
	}
	if n > length {
		blanks := strings.Repeat(" ", n-length)
		if left {
			return b.text(s + blanks)
		}
		return b.text(blanks + s)
	}
	runes := []rune(s)
	if left {
		return b.text(string(runes[:n]))
	}
	return b.text(string(runes[length-n:]))
}

func printFunctions(f map[string]any, b *budget) {
	// checked limits the arguments of a function whose result is at most as long.
	checked := func(do func(args ...any) string) func(args ...any) (string, error) {
		return func(args ...any) (string, error) {
			size := 0
			for _, a := range args {
				size += printedSize(a)
			}
			if err := b.fits(1, size); err != nil {
				return "", err
			}
			return b.text(do(args...))
		}
	}
	f["print"] = checked(fmt.Sprint)
	f["println"] = checked(fmt.Sprintln)
	f["html"] = checked(template.HTMLEscaper)
	f["js"] = checked(template.JSEscaper)
	f["urlquery"] = checked(template.URLQueryEscaper)
	f["printf"] = func(layout string, args ...any) (string, error) {
		// Each verb prints at most all of its argument, as wide as the numbers of the layout.
		size, longest, number := len(layout), 0, 0
		for _, a := range args {
			longest = max(longest, printedSize(a))
		}
		for _, c := range []byte(layout) {
			if number = 10*number + int(c-'0'); c-'0' > 9 || number > maxText {
				number = 0
			}
			size += number
			if c == '*' {
				return "", errors.New("printf: * is not supported")
			}
		}
		if err := errors.Join(b.fits(size, 1), b.fits(strings.Count(layout, "%"), 4*longest)); err != nil {
			return "", err
		}
		return b.text(fmt.Sprintf(layout, args...))
	}
}

// printedSize estimates the length of a value as text.
func printedSize(v any) int {
	switch v := v.(type) {
	case string:
		return len(v)
	case nil, bool, int, int64, float64, time.Time, time.Duration:
		return 64
	}
	return len(fmt.Sprint(v))
}

func numberFunctions(f map[string]any) {
	f["int"] = func(v any) int { return int(toInt(v)) }
	f["float64"] = toFloat
	add := folded(toInt, func(a, b int64) int64 { return a + b })
	f["add"] = func(vs ...any) int64 { return add(0, vs...) }
	f["mul"] = folded(toInt, func(a, b int64) int64 { return a * b })
	f["max"] = folded(toInt, func(a, b int64) int64 { return max(a, b) })
	f["min"] = folded(toInt, func(a, b int64) int64 { return min(a, b) })
	f["maxf"] = folded(toFloat, math.Max)
	f["minf"] = folded(toFloat, math.Min)
	f["sub"] = func(a, b any) int64 { return toInt(a) - toInt(b) }
	divide := func(name string, do func(a, b int64) int64) {
		f[name] = func(a, b any) (int64, error) {
			if toInt(b) == 0 {
				return 0, errors.New("division by zero")
			}
			return do(toInt(a), toInt(b)), nil
		}
	}
	divide("div", func(a, b int64) int64 { return a / b })
	divide("mod", func(a, b int64) int64 { return a % b })
	f["ceil"] = func(v any) float64 { return math.Ceil(toFloat(v)) }
	f["floor"] = func(v any) float64 { return math.Floor(toFloat(v)) }
	f["round"] = func(v any, places int, half ...float64) float64 {
		roundUp := 0.5
		if len(half) > 0 {
			roundUp = half[0]
		}
		scale := math.Pow(10, float64(places))
		scaled := toFloat(v) * scale
		if _, rest := math.Modf(scaled); rest >= roundUp {
			return math.Ceil(scaled) / scale
		}
		return math.Floor(scaled) / scale // so -1.2 is -2, as in Loki
	}
	f["bytes"] = func(s string) (float64, error) {
		n, err := parseBytes(s)
		return float64(n), err
	}
}

// folded makes a function that combines its arguments, from the first to the last.
func folded[T any](convert func(any) T, do func(a, b T) T) func(v any, vs ...any) T {
	return func(v any, vs ...any) T {
		result := convert(v)
		for _, v := range vs {
			result = do(result, convert(v))
		}
		return result
	}
}

// toInt converts a value to an integer, 0 if it is not a number with up to 64 bits. Fractions are cut off.
func toInt(v any) int64 {
	if s, ok := v.(string); ok {
		if whole, fraction, found := strings.Cut(s, "."); found && strings.Trim(fraction, "0123456789") == "" {
			s = whole
			if strings.Trim(s, "+-") == "" {
				s += "0"
			}
		}
		n, err := strconv.ParseInt(s, 0, 64)
		if err != nil {
			return 0
		}
		return n
	}
	if r := reflect.ValueOf(v); r.IsValid() && r.CanInt() {
		return r.Int()
	}
	f := toFloat(v)
	if !(f >= math.MinInt64 && f < math.MaxInt64) { // also NaN
		return 0
	}
	return int64(f)
}

// toFloat converts a value to a float, 0 if it is not a number.
func toFloat(v any) float64 {
	switch r := reflect.ValueOf(v); {
	case !r.IsValid():
		return 0
	case r.CanInt():
		return float64(r.Int())
	case r.CanUint():
		return float64(r.Uint())
	case r.CanFloat():
		return r.Float()
	case r.Kind() == reflect.String:
		f, err := strconv.ParseFloat(r.String(), 64)
		if err != nil {
			return 0
		}
		return f
	case r.Kind() == reflect.Bool && r.Bool():
		return 1
	}
	return 0
}
