package loki

import (
	"runtime"

	"logstow/logql/labels"
	"logstow/logql/syntax"
)

// apiVersion is the version of Loki whose API is implemented. Clients choose requests by it.
const apiVersion = "3.5.0"

// buildInfo is /loki/api/v1/status/buildinfo.
func (q *request) buildInfo() error {
	return q.json(struct {
		Version   string `json:"version"`
		Revision  string `json:"revision"`
		Branch    string `json:"branch"`
		BuildUser string `json:"buildUser"`
		BuildDate string `json:"buildDate"`
		GoVersion string `json:"goVersion"`
	}{Version: apiVersion, Revision: q.api.opts.Version, Branch: "logstow", GoVersion: runtime.Version()})
}

// drilldownLimits is /loki/api/v1/drilldown-limits. Logs Drilldown enables features by it.
func (q *request) drilldownLimits() error {
	type limits struct {
		LogLevels          bool     `json:"discover_log_levels"`
		ServiceName        []string `json:"discover_service_name"`
		LevelFields        []string `json:"log_level_fields"`
		Entries            int      `json:"max_entries_limit_per_query"`
		LineSizeTruncate   bool     `json:"max_line_size_truncate"`
		QueryBytesRead     string   `json:"max_query_bytes_read"`
		QueryLength        string   `json:"max_query_length"`
		QueryLookback      string   `json:"max_query_lookback"`
		QueryRange         string   `json:"max_query_range"`
		QuerySeries        int      `json:"max_query_series"`
		MetricAggregation  bool     `json:"metric_aggregation_enabled"`
		PatternPersistence bool     `json:"pattern_persistence_enabled"`
		QueryTimeout       string   `json:"query_timeout"`
		RetentionPeriod    string   `json:"retention_period"`
		Volume             bool     `json:"volume_enabled"`
		VolumeSeries       int      `json:"volume_max_series"`
	}
	own := q.api.opts.Limits
	const none = "0s"
	return q.json(struct {
		Limits   limits `json:"limits"`
		Patterns bool   `json:"pattern_ingester_enabled"`
		Version  string `json:"version"`
	}{limits{
		LogLevels: true, ServiceName: []string{labels.Service}, LevelFields: []string{labels.Level}, Entries: own.Entries,
		QueryBytesRead: "0B", QueryLength: none, QueryLookback: none, QueryRange: none, QuerySeries: own.Engine.Series,
		QueryTimeout: own.Duration.String(), RetentionPeriod: none, Volume: true, VolumeSeries: own.Series,
	}, true, apiVersion})
}

// formatQuery is /loki/api/v1/format_query: it formats a query for reading.
func (q *request) formatQuery() error {
	expr, err := syntax.Parse(q.get("query"))
	if err != nil {
		return err
	}
	return q.success(syntax.Pretty(expr))
}
