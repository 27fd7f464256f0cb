package logmetrics

// Summary describes the records that a metric has counted.
type Summary struct {
	Name string
	Type Type
	// Records is the number of records in its series, Series the number of series.
	Records uint64
	Series  int
	// Skipped counts the records that match but are not in a series, by reason. Reasons with no records are omitted.
	Skipped map[string]uint64
	// Fields are the names of the fields of messages that its definition uses.
	Fields []string
}

// Summaries returns a summary of each metric, in the order of the definitions.
func (s *Set) Summaries() []Summary {
	metrics := s.current.Load().metrics
	all := make([]Summary, 0, len(metrics))
	for _, m := range metrics {
		all = append(all, m.summary())
	}
	return all
}

func (m *metric) summary() Summary {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := Summary{Name: m.spec.Name, Type: m.spec.Type, Series: len(m.series), Skipped: map[string]uint64{}, Fields: m.fields()}
	for _, one := range m.series {
		s.Records += one.count
	}
	for why, n := range m.skipped {
		if n > 0 {
			s.Skipped[reason(why).String()] = n
		}
	}
	return s
}
