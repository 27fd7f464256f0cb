package retention

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"logstow/internal/hint"
	"logstow/internal/price"
	"logstow/store"
)

// maxNamed is how many blobs and problems a report names; it counts all.
const maxNamed = 100

// The reasons of [Kept].
const (
	// NotNamed: the policy does not name the class.
	NotNamed = "class not in the policy"
	// Unreadable: nothing says what the class is.
	Unreadable = "unreadable metadata, class unknown"
)

// Report says what a run did, or with DryRun would do. It has a JSON form.
type Report struct {
	Store  string `json:"store"`
	DryRun bool   `json:"dry_run"`
	// Now is the time by which days were judged.
	Now time.Time `json:"now,omitzero"`
	// Services were listed; Listed blobs were looked at.
	Services int   `json:"services"`
	Listed   int64 `json:"listed"`
	// Complete says that the run came to its end.
	Complete bool `json:"complete"`
	// Blobs and Bytes went, of the Days, which are in order. Where the run did not come to its
	// end, or not everything could be listed, Days is what was found, and Blobs and Bytes
	// what is known to have gone.
	Blobs int64 `json:"blobs"`
	Bytes int64 `json:"bytes"`
	Days  []Day `json:"days"`
	// Kept are blobs as old as others that went, which the policy does not judge.
	Kept []Kept `json:"kept"`
	// Moved are blobs that are known to have gone to another tier.
	Moved []Moved `json:"moved"`
	// Notes are of tiers that are left early: see [Policy.Early].
	Notes []string `json:"notes"`
	// Stayed blobs should be gone and are still there, for one of the Problems; the first are named.
	Stayed      int64    `json:"stayed"`
	StayedNames []string `json:"stayed_names,omitempty"`
	// Late blobs of past days were written while the run went on; the next one finds them.
	Late int64 `json:"late"`
	// Requests by kind that were made, or with DryRun would be, and what they cost by
	// the prices given.
	Requests Requests `json:"requests"`
	CostUSD  float64  `json:"cost_usd"`
	// Problems are what did not work; the first hundred.
	Problems []string `json:"problems"`

	problems []error
}

// Day is what went of a class and a day.
type Day struct {
	Day   string `json:"day"`
	Class string `json:"class"`
	Blobs int64  `json:"blobs"`
	Bytes int64  `json:"bytes"`
	// Stayed of the Blobs are still there.
	Stayed int64 `json:"stayed,omitempty"`

	stayedBytes int64
	// Table is what became of the day's index table: "dropped", "pruned" (blobs
	// remain and stay indexed), "kept" (something failed), or "" where there was none;
	// with DryRun what would become of it.
	Table string `json:"table,omitempty"`
	Why   string `json:"why"`
}

// Kept are blobs that stay for one reason.
type Kept struct {
	Reason string `json:"reason"`
	Class  string `json:"class"`
	Blobs  int64  `json:"blobs"`
	Bytes  int64  `json:"bytes"`
	// First is the first of them by name.
	First string `json:"first"`
}

// Moved are blobs that went to a tier.
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

// Err is nil if all that should go went; else it says what did not work.
func (r *Report) Err() error {
	return errors.Join(append([]error{r.remainingError()}, r.problems...)...)
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
	report.Problems = make([]string, 0, len(r.report.problems))
	for _, err := range r.report.problems {
		report.Problems = append(report.Problems, hint.Text(err))
	}
	made := r.counter.Requests()
	report.Requests = Requests{
		List: made.List + r.estimated.List, Delete: made.Delete + r.estimated.Delete, Table: made.Table + r.estimated.Table,
		Tier: made.Tier + r.estimated.Tier,
	}
	used.List, used.Table = report.Requests.List, report.Requests.Table
	used.Read = report.Requests.Delete + report.Requests.Tier // the requests; the deletions in them are free
	prices := price.Default()
	if r.o.Prices != nil {
		prices = *r.o.Prices
	}
	report.CostUSD = prices.Cost(used)
	return report
}
