package layout

// Detect returns the name of the layout that the names of some blobs have, and what writes it; "" if there is none. Blobs without a time in
// their names are not recognized.
func Detect(names []string) (name, writer string) {
	for _, candidate := range []struct{ name, writer string }{
		{Azure, "diagnostic settings, flow logs or App Service"},
		{NameVector, "Vector"},
		{OTel, "the azureblob exporter of OpenTelemetry"},
		{Analytics, "Storage Analytics"},
		{NameFluentBit, "Fluent Bit"},
	} {
		l, err := Parse(candidate.name, Options{})
		if err != nil {
			continue
		}
		for _, name := range names {
			for _, t := range l.templates {
				if _, _, end, ok := t.match(name, l.zone); ok && !end.IsZero() {
					return candidate.name, candidate.writer
				}
			}
		}
	}
	return "", ""
}
