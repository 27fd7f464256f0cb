package logmetrics

// Summary is what a metric has counted.
type Summary struct {
	Name string
	Type Type
	// Records are those in its series.
	Records uint64
	Series  int
	// Skipped are the records that match and are in no series, by reason; reasons without any are omitted.
	Skipped map[string]uint64
	// Fields are the fields of messages that its definition names.
	Fields []string
}

// Summaries are those of all metrics, in the order of their definitions.
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
