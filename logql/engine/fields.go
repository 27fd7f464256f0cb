package engine

import (
	"slices"
	"strconv"
	"strings"

	"logstow/columns"
	"logstow/logql/labels"
	"logstow/logql/pipeline"
	"logstow/logql/syntax"
	"logstow/message"
)

// Fields are the parts of records that a worker needs: fields of lines of a form, by their labels; labels of their streams,
// service_name and where set Level, Source and Instance; and the second of the time, if Seconds is set.
type Fields struct {
	Form                             message.Form
	Names                            []string
	Level, Source, Instance, Seconds bool
}

// FieldBlock has the parts of records of one service that [Fields] requests.
type FieldBlock struct {
	Records int
	// Selected is set for each record that is selected; nil if all are.
	Selected []bool
	// Streams are the streams of the records. StreamIDs has the index of each record's stream; it is nil if there is one
	// stream. Only the labels that [Fields] requests are valid: service_name, level with detected_level, source and
	// instance. Streams without selected records may be nil.
	Streams   []*pipeline.Stream
	StreamIDs []uint8
	// Pages are of Fields.Names.
	Pages []*columns.Page
	// Runs are the seconds since Base, in Unix seconds, if Fields.Seconds is set.
	Base int64
	Runs []columns.Run
}

// FieldWorker is a [Worker] that may do without lines.
type FieldWorker interface {
	Worker
	// AddFields adds records. It returns false if it needs their lines; then it added none.
	AddFields(b *FieldBlock) (bool, error)
}

// requiredFields returns the fields from which the range aggregation can be computed without lines. It is nil unless json
// or logfmt is the only parser, no other stage reads the line, and series and filters use only labels that it cannot find
// under several names.
func (p *rangePlan) requiredFields() *Fields {
	switch p.agg.Op {
	case syntax.CountOver, syntax.Rate, syntax.AbsentOver, syntax.SumOver, syntax.AvgOver, syntax.MinOver, syntax.MaxOver,
		syntax.StddevOver, syntax.StdvarOver, syntax.QuantileOver:
	default: // the length of the line, or the time in nanoseconds
		return nil
	}
	names, ok := p.pipe.Fields()
	if !ok || p.group.without || len(p.log.Stages) != len(p.stages) || !fieldsOnly(p.stages) {
		return nil
	}
	f := &Fields{Form: parsedForm(p.stages[0]), Seconds: p.windows.n > 1}
	if f.Seconds && p.windows.commonWidth()%minCountWidth != 0 || !f.addNames(names) {
		return nil
	}
	return f
}

// addNames adds labels that stages read; it returns false if fields do not have one of them.
func (f *Fields) addNames(names []string) bool {
	for _, name := range names {
		switch {
		case name == labels.Error, name == labels.ErrorDetails, name == labels.Service:
		case name == labels.Level, name == labels.DetectedLevel:
			f.Level = true
		case name == labels.Source:
			f.Source = true
		case name == labels.Instance:
			f.Instance = true
		case strings.HasSuffix(name, "_extracted"), message.LabelName(name, true) != name:
			return false
		default:
			f.Names = append(f.Names, name)
		}
	}
	return true
}

// fieldsOnly reports whether all stages are json or logfmt, or process labels only.
func fieldsOnly(stages []syntax.Stage) bool {
	return len(stages) > 0 && parsedForm(stages[0]) != message.NoForm && !slices.ContainsFunc(stages[1:], func(s syntax.Stage) bool { return !labelsOnly(s) })
}

// parsedForm returns the form of the lines from which a stage, json or logfmt without expressions and flags, extracts all
// fields.
func parsedForm(s syntax.Stage) message.Form {
	switch x := s.(type) {
	case *syntax.JSONParser:
		if len(x.Extractions) == 0 {
			return message.ObjectForm
		}
	case *syntax.LogfmtParser:
		if len(x.Extractions) == 0 && !x.Strict && !x.KeepEmpty {
			return message.PairsForm
		}
	}
	return message.NoForm
}

// labelsOnly reports whether a stage processes labels, and does not read the line, as templates may.
func labelsOnly(s syntax.Stage) bool {
	switch x := s.(type) {
	case *syntax.LabelFilter, *syntax.DropLabels, *syntax.KeepLabels:
		return true
	case *syntax.LabelFormat:
		return !slices.ContainsFunc(x.Items, func(i syntax.LabelFormatItem) bool { return i.Rename == "" })
	}
	return false
}

// maxConditions is the number of conditions on the numbers of one label that [numberUse] has.
const maxConditions = 4

// numberUse describes how a query uses a label whose value is a number.
type numberUse struct {
	// only is set if the number matters for conditions and as the unwrapped sample only, not as a text.
	only, unwrapped bool
	conditions      []*syntax.NumberCondition
}

// size is the number of different entries and classes of numbers of a page.
func (u *numberUse) size(page *columns.Page) int {
	if page.Plane < 0 {
		return len(page.Entries)
	}
	return len(page.Entries) + 1<<len(u.conditions) - 1
}

// same reports whether the stages do the same with all numbers between the bounds of values.
func (u *numberUse) same(v *columns.Values) bool {
	least, err := strconv.ParseFloat(v.Least, 64)
	if err != nil || !u.only {
		return false
	}
	greatest, err := strconv.ParseFloat(v.Greatest, 64)
	return err == nil && !slices.ContainsFunc(u.conditions, func(c *syntax.NumberCondition) bool {
		if c.Op == syntax.CompareEqual || c.Op == syntax.CompareNotEqual {
			return least <= c.Value && c.Value <= greatest && least < greatest
		}
		return pipeline.Holds(least, c) != pipeline.Holds(greatest, c)
	})
}

// numberUse determines how the range aggregation uses a label.
func (p *rangePlan) numberUse(label string) numberUse {
	if slices.Contains(p.group.names, label) || slices.Contains(p.group.aliased, label) {
		return numberUse{}
	}
	return useOf(label, p.stages, p.agg.Range.Unwrap)
}

// useOf determines how stages and unwrap use a label.
func useOf(label string, stages []syntax.Stage, u *syntax.Unwrap) numberUse {
	use := numberUse{only: true}
	for _, s := range stages {
		switch x := s.(type) {
		case *syntax.LabelFilter:
			use.add(x.Condition, label)
		case *syntax.DropLabels:
			use.addItems(x.Items, label)
		case *syntax.KeepLabels:
			use.addItems(x.Items, label)
		case *syntax.LabelFormat:
			use.only = use.only && !slices.ContainsFunc(x.Items, func(i syntax.LabelFormatItem) bool { return i.Label == label || i.Rename == label })
		}
	}
	if u != nil {
		for _, f := range u.Filters {
			use.add(f.Condition, label)
		}
		if u.Label == label {
			use.only = use.only && u.Conversion == syntax.ConvertFloat
			use.unwrapped = use.only
		}
	}
	if use.only = use.only && len(use.conditions) <= maxConditions; !use.only {
		use = numberUse{}
	}
	return use
}

// add adds a condition.
func (u *numberUse) add(c syntax.Condition, label string) {
	switch x := c.(type) {
	case *syntax.And:
		u.add(x.Left, label)
		u.add(x.Right, label)
	case *syntax.Or:
		u.add(x.Left, label)
		u.add(x.Right, label)
	case *syntax.NumberCondition:
		if x.Name == label {
			u.conditions = append(u.conditions, x)
			u.only = u.only && x.Unit == syntax.UnitNone
		}
	default:
		u.only = u.only && !slices.Contains(conditionLabels(c), label)
	}
}

func (u *numberUse) addItems(items []syntax.LabelItem, label string) {
	u.only = u.only && !slices.ContainsFunc(items, func(i syntax.LabelItem) bool { return i.Matcher != nil && i.Name == label })
}
