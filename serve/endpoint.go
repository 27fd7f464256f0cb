package serve

import "strings"

// class determines which limits apply to a request.
type class int

const (
	// query holds a slot until its response is complete. Unknown paths are queries.
	query class = iota
	// metadata is a query that reads no text: it holds a slot of those, so that it does not wait for queries that do.
	metadata
	// tail follows new records. It holds a slot of tails, not of queries.
	tail
	// light reads nothing from storage and has no limit.
	light
)

// prefix is the prefix of the paths of Loki's API, ownPrefix of the paths that Loki does not have.
const (
	prefix    = "/loki/api/v1/"
	ownPrefix = "/logstow/api/v1/"
)

// isPage reports whether a path is a file of the page. The files are the same for everyone.
func isPage(path string) bool { return path == "/" || strings.HasPrefix(path, "/assets/") }

func classOf(path string) class {
	switch endpointOf(path) {
	case "tail":
		return tail
	case "labels", "label", "label/values", "series", "detected_labels", "index/stats", "index/volume", "index/volume_range", "estimate":
		return metadata
	case "status/buildinfo", "format_query", "drilldown-limits", "saved":
		return light
	}
	return query
}

// endpointOf returns the name of a path in metrics, one of a fixed set.
func endpointOf(path string) string {
	name, ok := strings.CutPrefix(path, prefix)
	if !ok {
		if isPage(path) {
			return "page"
		}
		switch path {
		case ownPrefix + "estimate", ownPrefix + "explain", ownPrefix + "records", ownPrefix + "saved":
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
