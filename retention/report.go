package retention

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"logstow/internal/price"
	"logstow/internal/problems"
	"logstow/store"
)

// maxNamed is the maximum number of blobs that a report lists; its counts include all.
const maxNamed = 100

// The reasons of [Kept].
const (
	// NotNamed means that the policy does not name the class.
	NotNamed = "class not in the policy"
	// Unreadable means that the class is unknown.
	Unreadable = "unreadable metadata, class unknown"
)

// Report is the result of a run; with DryRun the expected result. It has a JSON form.
type Report struct {
	Store  string `json:"store"`
	DryRun bool   `json:"dry_run"`
	// Now is the time that the policy was applied to.
	Now time.Time `json:"now,omitzero"`
	// Services is the number of listed services, Listed that of examined blobs.
	Services int   `json:"services"`
	Listed   int64 `json:"listed"`
	// Complete is set if the run reached its end.
	Complete bool `json:"complete"`
	// Blobs and Bytes are the number and size of deleted blobs, Days are the days that they belong to, in
	// order. If the run did not reach its end, or not everything could be listed, Days has the expired
	// blobs that were found, and Blobs and Bytes count those that are known to be deleted.
	Blobs int64 `json:"blobs"`
	Bytes int64 `json:"bytes"`
	Days  []Day `json:"days"`
	// Kept are blobs as old as deleted ones that were kept because the policy does not apply to them.
	Kept []Kept `json:"kept"`
	// Moved are blobs that are known to have been moved to another tier.
	Moved []Moved `json:"moved"`
	// Notes has the result of [Policy.Early].
	Notes []string `json:"notes"`
	// Stayed is the number of expired blobs that still exist because of one of the Problems; StayedNames are
	// the names of the first of them.
	Stayed      int64    `json:"stayed"`
	StayedNames []string `json:"stayed_names,omitempty"`
	// Late is the number of expired blobs that are left for the next run: those written during the run, and
	// outputs of compaction that are deleted after the other blobs of their day.
	Late int64 `json:"late"`
	// Requests are the requests made, with DryRun those needed; CostUSD is their cost at the given prices.
	Requests Requests `json:"requests"`
	CostUSD  float64  `json:"cost_usd"`
	// Problems are the first hundred failures.
	Problems []string `json:"problems"`

	problems *problems.List
}

// Day counts the deleted blobs of a class and a day.
type Day struct {
	Day   string `json:"day"`
	Class string `json:"class"`
	Blobs int64  `json:"blobs"`
	Bytes int64  `json:"bytes"`
	// Stayed is how many of the Blobs still exist.
	Stayed int64 `json:"stayed,omitempty"`

	stayedBytes int64
	// Table is the result for the day's index table: "dropped", "pruned" (blobs remain and stay
	// indexed), "kept" (something failed), or "" if there was none; with DryRun the result to
	// expect.
	Table string `json:"table,omitempty"`
	Why   string `json:"why"`
}

// Kept are blobs kept for one reason.
type Kept struct {
	Reason string `json:"reason"`
	Class  string `json:"class"`
	Blobs  int64  `json:"blobs"`
	Bytes  int64  `json:"bytes"`
	// First is the first of them by name.
	First string `json:"first"`
}

// Moved are blobs moved to a tier.
type Moved struct {
	Tier  string `json:"tier"`
	Blobs int64  `json:"blobs"`
	Bytes int64  `json:"bytes"`
}

// Requests are numbers of requests to storage.
type Requests struct {
	List   int64 `json:"list"`
	Delete int64 `json:"delete"`
	Table  int64 `json:"table"`
	Tier   int64 `json:"tier"`
}

// Err joins the failures; it is nil if all expired blobs were deleted.
func (r *Report) Err() error {
	return errors.Join(r.remainingError(), r.problems.Err())
}

// result completes the report.
func (r *run) result() Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	report := r.report
	report.Days = make([]Day, 0, len(r.days))
	for _, d := range r.days {
		report.Days = append(report.Days, *d)
		report.Blobs += d.Blobs - d.Stayed
		report.Bytes += d.Bytes - d.stayedBytes
	}
	if !report.DryRun && (!report.Complete || r.incomplete) {
		report.Blobs, report.Bytes = r.deleted.blobs, r.deleted.bytes
	}
	slices.SortFunc(report.Days, func(a, b Day) int { return cmp.Or(cmp.Compare(a.Day, b.Day), cmp.Compare(a.Class, b.Class)) })
	report.Kept = make([]Kept, 0, len(r.kept))
	for _, k := range r.kept {
		report.Kept = append(report.Kept, *k)
	}
	slices.SortFunc(report.Kept, func(a, b Kept) int { return cmp.Or(cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Class, b.Class)) })
	report.Notes = append([]string{}, report.Notes...)
	var used price.Usage
	report.Moved = []Moved{}
	for _, tier := range []store.Tier{store.Cool, store.Cold} {
		if m := r.moved[tier]; m != nil {
			report.Moved = append(report.Moved, *m)
			if tier == store.Cool {
				used.Cool.Move = m.Blobs
			} else {
				used.Cold.Move = m.Blobs
			}
		}
	}
	report.Problems = report.problems.Texts()
	made := r.counter.Requests()
	report.Requests = Requests{
		List: made.List + r.estimated.List, Delete: made.Delete + r.estimated.Delete, Table: made.Table + r.estimated.Table,
		Tier: made.Tier + r.estimated.Tier,
	}
	used.List, used.Table = report.Requests.List, report.Requests.Table
	used.Read = report.Requests.Delete + report.Requests.Tier // the requests; the deletions in them are free
	report.CostUSD = r.o.Prices.OrDefault().Cost(used)
	return report
}
