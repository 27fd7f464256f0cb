package serve

import "strings"

// class is how the limits treat a request.
type class int

const (
	// query holds a slot until it is answered. Unknown paths are queries.
	query class = iota
	// tail follows new records, and holds no slot.
	tail
	// light reads nothing.
	light
)

// prefix is that of the paths of Loki's API, ownPrefix that of what Loki does not have.
const (
	prefix    = "/loki/api/v1/"
	ownPrefix = "/logstow/api/v1/"
)

// isPage reports whether a path is of the page: files that are the same for everyone.
func isPage(path string) bool { return path == "/" || strings.HasPrefix(path, "/assets/") }

func classOf(path string) class {
	switch endpointOf(path) {
	case "tail":
		return tail
	case "status/buildinfo", "format_query", "drilldown-limits":
		return light
	}
	return query
}

// endpointOf is the name of a path in metrics: one of a fixed set.
func endpointOf(path string) string {
	name, ok := strings.CutPrefix(path, prefix)
	if !ok {
		if isPage(path) {
			return "page"
		}
		switch path {
		case ownPrefix + "estimate", ownPrefix + "records":
			return path[len(ownPrefix):]
		case "/ready", "/metrics", "/login", "/logout":
			return path[1:]
		}
		return "other"
	}
	switch name {
	case "query_range", "query", "labels", "label", "series", "tail", "index/stats", "index/volume", "index/volume_range",
		"detected_labels", "detected_fields", "patterns", "drilldown-limits", "format_query", "status/buildinfo":
		return name
	}
	for _, values := range []string{"label", "detected_field"} {
		if strings.HasPrefix(name, values+"/") && strings.HasSuffix(name, "/values") {
			return values + "/values"
		}
	}
	return "other"
}
