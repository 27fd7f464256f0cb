package compaction

import (
	"errors"
	"fmt"
	"time"

	"logstow/catalog"
	"logstow/internal/hint"
	"logstow/internal/problems"
	"logstow/store"
)

// Report is the result of a run: what it did, or with DryRun would do. It has a JSON form.
type Report struct {
	Store  string    `json:"store"`
	Now    time.Time `json:"now"`
	DryRun bool      `json:"dry_run"`
	// From and To are the range examined, To excluded.
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	// Complete is false if the run ended early.
	Complete bool `json:"complete"`
	// Services is the number of services examined, Chains that of their days and classes with plain segments.
	Services int `json:"services"`
	Chains   int `json:"chains"`
	// Outputs is the number of outputs created, Inputs and Records that of their inputs and records. BytesIn and BytesOut
	// are the stored sizes of inputs and outputs.
	Outputs  int64 `json:"outputs"`
	Inputs   int64 `json:"inputs"`
	Records  int64 `json:"records"`
	BytesIn  int64 `json:"bytes_in"`
	BytesOut int64 `json:"bytes_out"`
	// Removed is the number of inputs deleted, Young that of inputs that are too young, or whose output is.
	Removed      int64 `json:"removed"`
	BytesRemoved int64 `json:"bytes_removed"`
	Young        int64 `json:"young"`
	// OtherTier is the number of segments that are not merged because of their tier, Held that of inputs that stay because a
	// policy, a legal hold or a lease keeps them. Damaged has those that are not merged because they are damaged.
	OtherTier int64 `json:"other_tier"`
	Held      int64 `json:"held"`
	// Conflicts is the number of outputs discarded because another compaction merged an input first, Left that of days skipped because
	// retention is deleting them.
	Conflicts int64 `json:"conflicts"`
	Left      int64 `json:"left"`
	// Halted are the scopes that need an operator; Problems has the reasons.
	Halted []string `json:"halted"`
	// Damaged are the inputs skipped because they are damaged. Different are the segments that have the Batch of an input
	// but differ from it.
	Damaged   []string `json:"damaged"`
	Different []string `json:"different"`
	// Problems are all errors, including those of Halted.
	Problems []string       `json:"problems"`
	Requests store.Requests `json:"requests"`
	CostUSD  float64        `json:"cost_usd"`
	// SoftDeleteUSD is the cost of the removed bytes per day that soft delete retains them, if it is enabled.
	SoftDeleteUSD float64 `json:"soft_delete_usd_per_day"`

	problems *problems.List
}

// Err joins the problems; it is nil if there are none.
func (r *Report) Err() error { return r.problems.Err() }

// problem logs and reports an error that does not end the run.
func (r *run) problem(err error) {
	r.report.problems.Log(r.o.Log, "compaction", err)
}

// halt reports a scope that needs an operator.
func (r *run) halt(scope catalog.Scope, err error) {
	err = fmt.Errorf("compaction of %s halted: %w", scope, err)
	if errors.Is(err, ErrDamaged) {
		err = hint.Wrap(err, "if all its inputs exist, shipper compact --reject NAME makes readers and compaction ignore it")
	}
	r.report.Halted = append(r.report.Halted, scope.String())
	r.problem(err)
}

// cost returns the cost of the requests so far in dollars.
func (r *run) cost() float64 { return r.prices.Cost(r.counter.Requests().Usage()) }

// result completes the report.
func (r *run) result(complete bool) Report {
	report := r.report
	report.Complete = complete
	report.Halted = append([]string{}, report.Halted...)
	report.Damaged = append([]string{}, report.Damaged...)
	report.Different = append([]string{}, report.Different...)
	report.Problems = report.problems.Texts()
	report.Requests, report.CostUSD = r.counter.Requests(), r.cost()
	report.SoftDeleteUSD = float64(report.BytesRemoved) / 1e9 * r.prices.Month / 30
	return report
}
