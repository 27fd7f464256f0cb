package export

import (
	"time"

	"logstow/export/datafile"
	"logstow/internal/problems"
	"logstow/store"
)

// Report is the result of a run: what it did, or with DryRun would do. It has a JSON form.
type Report struct {
	Store  string    `json:"store"`
	Table  string    `json:"table"`
	Now    time.Time `json:"now"`
	DryRun bool      `json:"dry_run"`
	// Complete is false if the run ended early.
	Complete bool `json:"complete"`
	// Version is that of the table at the end, -1 if there is no table. Created is set if the run created it. Commits is the number of
	// commits of this run.
	Version int64 `json:"version"`
	Created bool  `json:"created"`
	Commits int   `json:"commits"`
	// Services is the number of services examined.
	Services int `json:"services"`
	// Units is the number of outputs exported, Records that of their records, BytesIn their stored size, Days that of their days.
	Units   int64 `json:"units"`
	Records int64 `json:"records"`
	BytesIn int64 `json:"bytes_in"`
	Days    int   `json:"days"`
	// Files is the number of data files created, BytesOut their size.
	Files    int64 `json:"files"`
	BytesOut int64 `json:"bytes_out"`
	datafile.Counts
	// Rebuilt is the number of days that were written anew because an output in them was rejected.
	Rebuilt int `json:"rebuilt_days"`
	// ExpiredDays and ExpiredFiles are what left the table because of Keep.
	ExpiredDays  int `json:"expired_days"`
	ExpiredFiles int `json:"expired_files"`
	// Deleted is the number of blobs of the table deleted: data files and entries of the log that no reader needs.
	Deleted      int64 `json:"deleted"`
	DeletedBytes int64 `json:"deleted_bytes"`
	// Waiting is the number of segments of ended days that are not compacted yet, so that they are not in the table; WaitingToday that of
	// days that have not ended.
	Waiting      int64 `json:"waiting"`
	WaitingToday int64 `json:"waiting_today"`
	// Left is the number of service days skipped because retention is deleting them, Sealed that of days skipped because the table may not
	// know any more what it has of them.
	Left   int `json:"left"`
	Sealed int `json:"sealed"`
	// Conflicts is the number of times that another run committed what this one was to commit.
	Conflicts int `json:"conflicts"`
	// Damaged are outputs that cannot be exported, nor can later ones of their chains.
	Damaged  []string       `json:"damaged"`
	Problems []string       `json:"problems"`
	Requests store.Requests `json:"requests"`
	CostUSD  float64        `json:"cost_usd"`

	problems *problems.List
}

// Err joins the problems; it is nil if there are none.
func (r *Report) Err() error { return r.problems.Err() }

// problem logs and reports an error that does not end the run.
func (r *run) problem(err error) {
	r.report.problems.Log(r.o.Log, "export", err)
}

// cost returns the cost of the requests so far in dollars.
func (r *run) cost() float64 { return r.prices.Cost(r.counter.Requests().Usage()) }

// result completes the report.
func (r *run) result(complete bool) Report {
	report := r.report
	report.Complete = complete
	report.Damaged = append([]string{}, report.Damaged...)
	report.Problems = report.problems.Texts()
	report.Requests, report.CostUSD = r.counter.Requests(), r.cost()
	return report
}
