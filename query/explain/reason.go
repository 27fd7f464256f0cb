package explain

import "fmt"

// Reason is a likely reason why a query found nothing. Its JSON form is printed by
// --explain with -o json.
type Reason struct {
	// Code identifies the reason for programs: store-empty, layout, service-unknown, range-empty, future,
	// level, levels-missing, source-unknown, field-missing, field-type, value-unknown, instance-unknown, index, exclude,
	// regexp, template, where, source, pattern, case, identifier, service-name, level-name, meaning or default-range; of LogQL also
	// label-unknown, parser-missing, field-unit and stage; mistake if the query cannot be read.
	Code string `json:"code"`
	// Text is for people: a line without a full stop. It names flags.
	Text string `json:"text"`
	// Fact is Text without flags, for a query that is no command line; "" if Text has none.
	Fact string `json:"-"`
	// Culprits are the parts of the query that the reason is about.
	Culprits []string `json:"-"`
	// Corrections are changes of the query that probably find something, the best first.
	Corrections []Correction `json:"-"`
}

// CodeStage is the code of the reason that stages of a LogQL query exclude all records.
const CodeStage = "stage"

// StoreEmpty returns the reason if no store has a service.
func StoreEmpty() Reason {
	return Reason{Code: "store-empty", Text: "the store holds no logs: nothing was shipped to it yet, or --store names the wrong store"}
}

// UnknownService returns the reason if a service is not among those that exist.
func UnknownService(name string, services []string) Reason {
	return Reason{
		Code: "service-unknown", Text: fmt.Sprintf("service %q does not exist; %s", name, NearestOr(name, services)),
		Culprits: []string{name}, Corrections: Alternatives(Fix{Kind: FixService, Old: name}, Near(name, services)),
	}
}

// explanation collects the reasons.
type explanation struct {
	*Evidence
	reasons []Reason
}

func (x *explanation) add(code, format string, args ...any) {
	x.reasons = append(x.reasons, Reason{Code: code, Text: fmt.Sprintf(format, args...)})
}

// correct adds what the last reason is about, and how to correct it.
func (x *explanation) correct(culprit string, corrections ...Correction) {
	r := &x.reasons[len(x.reasons)-1]
	r.Culprits, r.Corrections = []string{culprit}, corrections
}

// advise appends a flag, as advice, to the text of the last reason alone.
func (x *explanation) advise(format string, args ...any) {
	r := &x.reasons[len(x.reasons)-1]
	r.Fact, r.Text = r.Text, r.Text+fmt.Sprintf(format, args...)
}
