package logmetrics

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"logstow/field"
	"logstow/internal/hint"
	"logstow/internal/suggest"
	"logstow/message"
)

// The limits and defaults of a configuration.
const (
	// MaxMetrics is the maximum number of metrics.
	MaxMetrics = 100
	// DefaultMaxSeries is the default of [Spec.MaxSeries], MaxSeries its maximum.
	DefaultMaxSeries = 1000
	MaxSeries        = 100_000
	// MaxLabels is the maximum number of labels of a metric, MaxBuckets the maximum number of buckets.
	MaxLabels  = 10
	MaxBuckets = 100
	// MaxLabelSize is the maximum size of a label's value in bytes.
	MaxLabelSize = 256
)

// Type is the type of a metric.
type Type string

// The types.
const (
	Counter   Type = "counter"
	Gauge     Type = "gauge"
	Histogram Type = "histogram"
)

// Types returns the names of all types.
func Types() []string { return []string{string(Counter), string(Gauge), string(Histogram)} }

// Spec is the definition of a metric.
type Spec struct {
	Name string
	Type Type
	// Where is a condition in the language of package where; "" matches all records.
	Where string
	// Value names a field of the message, in the syntax of [field.ParseName]. It may be "" for a counter, which then counts records.
	Value string
	// Scale is a decimal number that values are multiplied by; "" is 1.
	Scale string
	// Labels name fields of a record, in the syntax of [field.ParseRecordNames].
	Labels []string
	// Buckets are the upper bounds of a histogram after scaling, as ascending decimal numbers. The default is [DefaultBuckets].
	Buckets []string
	// MaxSeries is the maximum number of series, each a combination of label values; 0 is DefaultMaxSeries.
	MaxSeries int
	// Line is its line in the configuration file, or 0.
	Line int
}

// DefaultBuckets returns the default buckets of Prometheus' client libraries, for durations in seconds.
func DefaultBuckets() []string {
	return []string{"0.005", "0.01", "0.025", "0.05", "0.1", "0.25", "0.5", "1", "2.5", "5", "10"}
}

// same reports whether two definitions compute the same values: they are equal except for MaxSeries and Line.
func (s *Spec) same(o *Spec) bool {
	return s.Name == o.Name && s.Type == o.Type && s.Where == o.Where && s.Value == o.Value && s.Scale == o.Scale &&
		slices.Equal(s.Labels, o.Labels) && slices.Equal(s.Buckets, o.Buckets)
}

// names returns the names of the series that a metric is exposed as.
func (s *Spec) names() []string {
	if s.Type == Histogram {
		return []string{s.Name, s.Name + "_bucket", s.Name + "_count", s.Name + "_sum"}
	}
	return []string{s.Name}
}

// ParseType reads a type.
func ParseType(text string) (Type, error) {
	if slices.Contains(Types(), text) {
		return Type(text), nil
	}
	if near := suggest.Nearest(text, Types()); near != "" {
		return "", fmt.Errorf("%q: did you mean %s?", text, near)
	}
	return "", fmt.Errorf("%q: want %s", text, strings.Join(Types(), ", "))
}

// CheckName validates the name of a metric. It must consist of letters, digits and _, and must not be the name of a metric of the
// shipper or of Prometheus.
func CheckName(name string) error {
	if !regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`).MatchString(name) {
		return fmt.Errorf("%q: want letters, digits and _, not beginning with a digit", name)
	}
	for _, prefix := range []string{"logstow_", "go_", "process_", "promhttp_", "scrape_"} {
		if strings.HasPrefix(name, prefix) {
			return fmt.Errorf("%q: names that begin with %s are reserved", name, prefix)
		}
	}
	if name == "up" || name == "ALERTS" || name == "ALERTS_FOR_STATE" || strings.HasPrefix(name, "__") {
		return fmt.Errorf("%q is reserved by Prometheus", name)
	}
	return nil
}

// number parses a decimal number. The lengths of its parts are limited, so that the result is small.
func number(text string) (*big.Rat, error) {
	if !regexp.MustCompile(`^-?[0-9]{1,20}(\.[0-9]{1,20})?([eE][-+]?[0-9]{1,2})?$`).MatchString(text) {
		return nil, fmt.Errorf("%q is not a number", text)
	}
	n, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil, fmt.Errorf("%q is not a number", text)
	}
	return n, nil
}

// CheckScale validates a scale, which must be a number above 0.
func CheckScale(text string) error {
	n, err := number(text)
	if err == nil && n.Sign() <= 0 {
		err = fmt.Errorf("%q: want a number above 0", text)
	}
	return err
}

// CheckBuckets validates upper bounds, which must be ascending numbers.
func CheckBuckets(texts []string) error {
	if len(texts) > MaxBuckets {
		return fmt.Errorf("%d buckets, at most %d allowed", len(texts), MaxBuckets)
	}
	var last *big.Rat
	for _, text := range texts {
		n, err := number(text)
		if err != nil {
			return err
		}
		a, _ := n.Float64()
		if last != nil {
			if b, _ := last.Float64(); a <= b {
				return fmt.Errorf("%s: want ascending bounds", text)
			}
		}
		last = n
	}
	return nil
}

// CheckValue validates the name of a value's field.
func CheckValue(text string) error {
	_, err := valueField(text)
	return err
}

func valueField(text string) (string, error) {
	n, err := field.ParseName(text)
	switch {
	case err != nil:
		return "", err
	case n.Fixed != "":
		return "", hint.Wrap(fmt.Errorf("%s is not a field of the message", text),
			"for a field of the message named %s write %s", text, field.WriteName(text))
	case !n.Step.IsZero():
		return "", hint.Wrap(fmt.Errorf("%s is a time step", text),
			"for a field of the message with this name write field(%s)", strconv.Quote(text))
	}
	return n.Field, nil
}

// label is a label. Its value is a fixed field of records, or else a field of the message.
type label struct {
	name  string
	fixed field.Fixed
	field string
}

// CheckLabels validates the labels of a metric of a type.
func CheckLabels(texts []string, of Type) error {
	_, err := labels(texts, of)
	return err
}

func labels(texts []string, of Type) ([]label, error) {
	if len(texts) > MaxLabels {
		return nil, fmt.Errorf("%d labels, at most %d allowed", len(texts), MaxLabels)
	}
	names, err := field.ParseRecordNames(texts)
	if err != nil {
		return nil, err
	}
	all := make([]label, 0, len(names))
	taken := map[string]string{}
	for _, n := range names {
		l := label{fixed: n.Fixed, field: n.Field, name: string(n.Fixed)}
		if n.Fixed == field.Time || n.Fixed == field.Message {
			return nil, hint.Wrap(fmt.Errorf("%s cannot be a label", n.Text), "for a field of the message named %s write %s",
				n.Text, field.WriteName(n.Text))
		}
		if n.IsField() {
			l.name = cmp.Or(message.LabelName(strings.TrimPrefix(n.Field, string(field.Message)+"."), true), "_")
		}
		switch {
		case l.name == "le" && of == Histogram:
			return nil, errors.New("le is reserved for the buckets of histograms")
		case strings.HasPrefix(l.name, "__"):
			return nil, fmt.Errorf("%s: labels that begin with __ are reserved by Prometheus", n.Text)
		case taken[l.name] != "":
			return nil, fmt.Errorf("%s and %s have the same label name %s", taken[l.name], n.Text, l.name)
		}
		taken[l.name] = n.Text
		all = append(all, l)
	}
	return all, nil
}

// Check validates the combination of the parts of a definition. The other functions validate each part.
func (s *Spec) Check() error {
	switch {
	case s.Value == "" && s.Type != Counter:
		return fmt.Errorf("a %s requires a value", s.Type)
	case s.Value == "" && s.Scale != "":
		return errors.New("scale requires a value")
	case len(s.Buckets) > 0 && s.Type != Histogram:
		return errors.New("buckets require a histogram")
	}
	return nil
}

// Clash returns an error if a series of the metric has the name of a series of one of the others.
func (s *Spec) Clash(others []Spec) error {
	for i := range others {
		for _, name := range others[i].names() {
			if slices.Contains(s.names(), name) {
				return fmt.Errorf("%s: %s %s has the same name", name, others[i].Type, others[i].Name)
			}
		}
	}
	return nil
}

// scale is a factor as a fraction, so that a scale such as 0.001 rounds only once.
type scale struct{ numerator, denominator float64 }

func (s scale) apply(v float64) float64 { return v * s.numerator / s.denominator }

// thresholds parses the bounds of buckets. unscaled are the bounds in the unit of the values before scaling.
func thresholds(bounds []string, factor *big.Rat) (scaled, unscaled []float64, err error) {
	for _, text := range bounds {
		n, err := number(text)
		if err != nil {
			return nil, nil, err
		}
		le, _ := n.Float64()
		at, _ := new(big.Rat).Quo(n, factor).Float64()
		if math.IsInf(le, 0) || math.IsInf(at, 0) {
			return nil, nil, fmt.Errorf("%s: out of range", text)
		}
		scaled, unscaled = append(scaled, le), append(unscaled, at)
	}
	return scaled, unscaled, nil
}
