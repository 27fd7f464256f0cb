package compaction

import (
	"errors"
	"fmt"
	"time"

	"logstow/containment"
	"logstow/internal/hint"
	"logstow/internal/price"
	"logstow/store"
)

// Report is what a run did, or with DryRun would do. It has a JSON form.
type Report struct {
	Store  string    `json:"store"`
	Now    time.Time `json:"now"`
	DryRun bool      `json:"dry_run"`
	// From and To are the hours that were looked at: To is excluded.
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	// Complete is false where the run ended early.
	Complete bool `json:"complete"`
	// Services were looked at, and Hours of them: hours and classes that have plain segments.
	Services int `json:"services"`
	Hours    int `json:"hours"`
	// Outputs were created of Inputs with Records; BytesIn and BytesOut are stored sizes.
	Outputs  int64 `json:"outputs"`
	Inputs   int64 `json:"inputs"`
	Records  int64 `json:"records"`
	BytesIn  int64 `json:"bytes_in"`
	BytesOut int64 `json:"bytes_out"`
	// Removed inputs were deleted; Young ones are contained but not old enough.
	Removed      int64 `json:"removed"`
	BytesRemoved int64 `json:"bytes_removed"`
	Young        int64 `json:"young"`
	// HeldBatches are requests to delete in which a policy held some blobs.
	HeldBatches int64 `json:"held_batches"`
	// Conflicts are generations that another compaction made first, Left hours that retention deletes.
	Conflicts int64 `json:"conflicts"`
	Left      int64 `json:"left"`
	// Halted are hours and classes that need an operator, with the reason.
	Halted []string `json:"halted"`
	// Damaged inputs were left out. Different segments have the Batch of an input and are
	// otherwise another.
	Damaged   []string `json:"damaged"`
	Different []string `json:"different"`
	// Problems are what did not work, Halted and Damaged included.
	Problems []string       `json:"problems"`
	Requests store.Requests `json:"requests"`
	CostUSD  float64        `json:"cost_usd"`
	// SoftDeleteUSD is what the removed bytes cost for each day that soft delete keeps them, if it is on.
	SoftDeleteUSD float64 `json:"soft_delete_usd_per_day"`

	problems []error
}

// maxNamed is how many problems a report keeps.
const maxNamed = 100

// Err joins what did not work, and is nil if all did.
func (r *Report) Err() error { return errors.Join(r.problems...) }

// problem notes what did not work.
func (r *run) problem(err error) {
	r.o.Log.Error("compaction", "error", err)
	if len(r.report.problems) < maxNamed {
		r.report.problems = append(r.report.problems, err)
	}
}

// halt notes a scope that needs an operator.
func (r *run) halt(scope containment.Scope, err error) {
	err = fmt.Errorf("compaction of %s halted: %w", scope, err)
	if errors.Is(err, ErrDamaged) {
		err = hint.Wrap(err, "if its inputs are all there, shipper compact --reject NAME makes readers and compaction ignore it")
	}
	r.report.Halted = append(r.report.Halted, scope.String())
	r.problem(err)
}

// cost is what the requests so far cost in dollars.
func (r *run) cost() float64 {
	made := r.counter.Requests()
	return r.prices.Cost(price.Usage{List: made.List, Read: made.Get + made.Delete, Table: made.Table, Create: made.Create})
}

// result completes the report.
func (r *run) result(complete bool) Report {
	report := r.report
	report.Complete = complete
	report.Halted = append([]string{}, report.Halted...)
	report.Damaged = append([]string{}, report.Damaged...)
	report.Different = append([]string{}, report.Different...)
	report.Problems = make([]string, 0, len(report.problems))
	for _, err := range report.problems {
		report.Problems = append(report.Problems, hint.Text(err))
	}
	report.Requests, report.CostUSD = r.counter.Requests(), r.cost()
	report.SoftDeleteUSD = float64(report.BytesRemoved) / 1e9 * r.prices.Month / 30
	return report
}
