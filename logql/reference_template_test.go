package logql_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"net/url"
	"strconv"
	"strings"
	"text/template"
	"time"
)

// template executes a template with labels.
func (w *row) template(text string, labels map[string]string) (string, error) {
	t, err := template.New("").Option("missingkey=zero").Funcs(w.functions()).Parse(text)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	labels = withoutNames(labels, []string{refError, refDetails})
	err = t.Execute(&b, labels)
	return b.String(), err
}

// functions are those of the documentation that the table uses.
func (w *row) functions() template.FuncMap {
	return template.FuncMap{
		"__line__":      func() string { return w.line },
		"__timestamp__": func() time.Time { return time.Unix(0, w.time).UTC() },

		"lower": strings.ToLower, "upper": strings.ToUpper, "ToLower": strings.ToLower, "ToUpper": strings.ToUpper,
		"Replace": strings.Replace,
		"replace": func(old, with, s string) string { return strings.ReplaceAll(s, old, with) },
		"Trim":    strings.Trim, "TrimLeft": strings.TrimLeft, "TrimRight": strings.TrimRight,
		"TrimPrefix": strings.TrimPrefix, "TrimSuffix": strings.TrimSuffix, "TrimSpace": strings.TrimSpace,
		"trim":       strings.TrimSpace,
		"trimAll":    func(set, s string) string { return strings.Trim(s, set) },
		"trimPrefix": func(prefix, s string) string { return strings.TrimPrefix(s, prefix) },
		"trimSuffix": func(suffix, s string) string { return strings.TrimSuffix(s, suffix) },
		"title":      func(s string) string { return strings.ToUpper(s[:1]) + s[1:] },
		"repeat":     func(n int, s string) string { return strings.Repeat(s, n) },
		"contains":   func(part, s string) bool { return strings.Contains(s, part) },
		"hasPrefix":  func(prefix, s string) bool { return strings.HasPrefix(s, prefix) },
		"hasSuffix":  func(suffix, s string) bool { return strings.HasSuffix(s, suffix) },
		"indent":     func(n int, s string) string { return indent(n, s) },
		"nindent":    func(n int, s string) string { return "\n" + indent(n, s) },
		"trunc":      trunc,
		"substr":     substr,
		"alignLeft": func(n int, s string) string {
			return string([]rune(s + strings.Repeat(" ", n))[:n])
		},
		"alignRight": func(n int, s string) string {
			padded := []rune(strings.Repeat(" ", n) + s)
			return string(padded[len(padded)-n:])
		},
		"default": func(instead, s string) string {
			if s == "" {
				return instead
			}
			return s
		},
		"regexReplaceAll":        func(re, s, with string) string { return compiled(re).ReplaceAllString(s, with) },
		"regexReplaceAllLiteral": func(re, s, with string) string { return compiled(re).ReplaceAllLiteralString(s, with) },
		"count":                  func(re, s string) int { return len(compiled(re).FindAllString(s, -1)) },
		"b64enc":                 func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
		"b64dec": func(s string) (string, error) {
			out, err := base64.StdEncoding.DecodeString(s)
			return string(out), err
		},
		"urlencode": url.QueryEscape, "urldecode": url.QueryUnescape,
		"fromJson": func(s string) (out any) {
			_ = json.Unmarshal([]byte(s), &out)
			return out
		},

		"add":  func(a, b any) int64 { return whole(a) + whole(b) },
		"sub":  func(a, b any) int64 { return whole(a) - whole(b) },
		"mul":  func(a, b any) int64 { return whole(a) * whole(b) },
		"div":  func(a, b any) int64 { return whole(a) / whole(b) },
		"mod":  func(a, b any) int64 { return whole(a) % whole(b) },
		"max":  func(a, b any) int64 { return max(whole(a), whole(b)) },
		"min":  func(a, b any) int64 { return min(whole(a), whole(b)) },
		"addf": func(a, b any) float64 { return nearest(new(big.Rat).Add(ratio(a), ratio(b))) },
		"subf": func(a, b any) float64 { return nearest(new(big.Rat).Sub(ratio(a), ratio(b))) },
		"mulf": func(a, b any) float64 { return nearest(new(big.Rat).Mul(ratio(a), ratio(b))) },
		"divf": func(a, b any) float64 {
			quotient, _ := new(big.Rat).SetString(new(big.Rat).Quo(ratio(a), ratio(b)).FloatString(16))
			return nearest(quotient)
		},
		"maxf": func(a, b any) float64 { return max(real64(a), real64(b)) },
		"minf": func(a, b any) float64 { return min(real64(a), real64(b)) },

		"int": func(a any) int { return int(whole(a)) }, "float64": real64,
		"ceil": func(a any) float64 { return math.Ceil(real64(a)) }, "floor": func(a any) float64 { return math.Floor(real64(a)) },
		"round": func(a any, places int) float64 {
			power := math.Pow(10, float64(places))
			if fraction := math.Mod(real64(a)*power, 1); fraction >= 0.5 {
				return math.Ceil(real64(a)*power) / power
			}
			return math.Floor(real64(a)*power) / power
		},

		"bytes": refBytes, "duration": goSeconds, "duration_seconds": goSeconds,
		"date": func(layout string, v any) string {
			t, ok := v.(time.Time)
			if !ok {
				t = time.Now()
			}
			return t.UTC().Format(layout)
		},
		"toDate":          time.Parse,
		"unixEpoch":       func(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) },
		"unixEpochMillis": func(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) },
		"unixEpochNanos":  func(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) },
	}
}

func indent(n int, s string) string {
	pad := strings.Repeat(" ", n)
	return pad + strings.ReplaceAll(s, "\n", "\n"+pad)
}

func trunc(n int, s string) string {
	switch {
	case n >= 0 && n < len(s):
		return s[:n]
	case n < 0 && -n < len(s):
		return s[len(s)+n:]
	}
	return s
}

func substr(start, end int, s string) string {
	switch {
	case start < 0:
		return s[:end]
	case end < 0 || end > len(s):
		return s[start:]
	}
	return s[start:end]
}

func real64(a any) float64 {
	n, err := strconv.ParseFloat(fmt.Sprint(a), 64)
	if err != nil {
		return 0
	}
	return n
}

// whole is a number without its fraction; text with an exponent is no number.
func whole(a any) int64 {
	if s, ok := a.(string); ok && !compiled(`^[-+]?[0-9]*(\.[0-9]*)?$`).MatchString(s) {
		return 0
	}
	return int64(real64(a))
}

// ratio is the decimal that a float is written as.
func ratio(a any) *big.Rat {
	r, ok := new(big.Rat).SetString(strconv.FormatFloat(real64(a), 'g', -1, 64))
	if !ok {
		panic("no decimal")
	}
	return r
}

func nearest(r *big.Rat) float64 {
	f, _ := r.Float64()
	return f
}

func goSeconds(s string) (float64, error) {
	d, err := time.ParseDuration(s)
	return d.Seconds(), err
}
