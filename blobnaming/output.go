package blobnaming

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

const (
	// MaxGeneration is the last generation of a service, day and class.
	MaxGeneration = 999_999
	// defaultChain stands for the default class in the name of an output.
	defaultChain = "-"
	day          = 24 * time.Hour
)

// OutputName returns the name of compaction's output for a service, a UTC day, a class and a generation from 1 to
// [MaxGeneration]: "queue/2014/07/31/-/000001.log" in the compacted container.
func OutputName(service string, at time.Time, class string, generation int) Name {
	if class == "" {
		class = defaultChain
	}
	return Name{Service: service, Bucket: at.UTC().Truncate(day), Number: uint64(generation), Chain: class}
}

// ParseOutput parses the name of an output. It accepts exactly the output of [Name.String] for an [OutputName].
func ParseOutput(s string) (Name, error) {
	n, err := parseOutput(s)
	if err != nil {
		return Name{}, fmt.Errorf("blob name %q: %w", s, err)
	}
	return n, nil
}

func parseOutput(s string) (Name, error) {
	service, rest, ok := strings.Cut(s, "/")
	if !ok || !ValidService(service) {
		return Name{}, errors.New("does not start with a service name and a slash")
	}
	if len(rest) < len(dayLayout) {
		return Name{}, errors.New("the service is not followed by YYYY/MM/DD/")
	}
	at, err := time.Parse(dayLayout, rest[:len(dayLayout)])
	if err != nil || at.Year() < 1 {
		return Name{}, errors.New("the service is not followed by a date YYYY/MM/DD/")
	}
	chain, digits, _ := strings.Cut(rest[len(dayLayout):], "/")
	if chain != defaultChain && (chain == "" || !ValidClass(chain)) {
		return Name{}, errors.New("the date is not followed by a class, or - for the default one")
	}
	digits, ok = strings.CutSuffix(digits, Suffix)
	generation, err := strconv.ParseUint(digits, 10, 64)
	if !ok || err != nil || len(digits) != minDigits || generation == 0 {
		return Name{}, errors.New("the class is not followed by a generation of six digits and " + Suffix)
	}
	return Name{Service: service, Bucket: at, Number: generation, Chain: chain}, nil
}

// Output returns the generation if n is the name of an output of compaction, otherwise 0.
func (n Name) Output() (generation int) {
	if n.Chain == "" {
		return 0
	}
	return int(n.Number)
}

// Class returns the class of an output.
func (n Name) Class() string {
	if n.Chain == defaultChain {
		return ""
	}
	return n.Chain
}

// HasClass reports whether n is the name of an output of a class.
func (n Name) HasClass(class string) bool {
	return n.Chain != "" && n.Class() == class
}

// Rejected is the suffix, in place of [Suffix], of the marker that makes readers
// ignore an output. The marker is an empty blob.
const Rejected = ".rejected"

// RejectionOf returns the name of the marker that rejects an output.
func RejectionOf(n Name) string {
	return strings.TrimSuffix(n.String(), Suffix) + Rejected
}

// ParseRejection returns the name of the output that the marker with a name rejects.
func ParseRejection(s string) (Name, error) {
	if output, ok := strings.CutSuffix(s, Rejected); ok {
		if n, err := ParseOutput(output + Suffix); err == nil {
			return n, nil
		}
	}
	return Name{}, fmt.Errorf("blob name %q: not the rejection of an output", s)
}
