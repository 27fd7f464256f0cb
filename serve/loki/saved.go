package loki

import "logstow/serve/saved"

// saved is /logstow/api/v1/saved: the queries that all users share.
func (q *request) saved() error {
	queries := []saved.Query{}
	if q.api.opts.Saved != nil {
		shared, err := q.api.opts.Saved()
		if err != nil {
			return err
		}
		queries = append(queries, shared...)
	}
	return q.json(struct {
		Queries []saved.Query `json:"queries"`
	}{queries})
}
