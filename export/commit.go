package export

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"logstow/export/datafile"
	"logstow/export/delta"
	"logstow/internal/hint"
)

// sourceProperty is the property of a table with the store of which it is.
const sourceProperty = "logstow.store"

// fieldProperty begins the property with the field of a named column.
const fieldProperty = "logstow.field."

// shape is what a table is to be: its columns and properties.
type shape struct {
	named      []datafile.Named
	schema     string
	properties map[string]string
}

// shape returns the shape for a table in a state: the columns that it has, and those of the options.
func (r *run) shape(table *delta.Snapshot) (*shape, error) {
	sh := &shape{properties: maps.Clone(table.Metadata.Configuration)}
	if sh.properties == nil {
		sh.properties = make(map[string]string)
	}
	fields := datafile.Fixed()
	if table.Version >= 0 {
		var err error
		if fields, err = delta.DecodeSchema(table.Metadata.Schema); err != nil {
			return nil, fmt.Errorf("cannot use the table %s: %w", r.report.Table, err)
		}
		if source := sh.properties[sourceProperty]; source != r.source {
			err := fmt.Errorf("cannot export %s to %s: it is the table of %s", r.store, r.report.Table, orUnknown(source))
			return nil, hint.Wrap(err, "each store has a table of its own: give another --to")
		}
		if err := checkFixed(fields); err != nil {
			return nil, fmt.Errorf("cannot use the table %s: %w", r.report.Table, err)
		}
	}
	byField := make(map[string]delta.Field) // named columns
	taken := make(map[string]bool)
	for _, f := range fields {
		taken[strings.ToLower(f.Name)] = true
		if field, ok := sh.properties[fieldProperty+f.Name]; ok {
			byField[field] = f
			sh.named = append(sh.named, datafile.Named{Column: f.Name, Field: field, Kind: kindOf(f)})
		}
	}
	for _, c := range r.o.Columns {
		if f, ok := byField[c.Field]; ok {
			if kindOf(f) != c.Kind {
				err := fmt.Errorf("cannot make the column of %s a %s: in the table %s it is a %s", c.Field, c.Kind,
					r.report.Table, kindOf(f))
				return nil, hint.Wrap(err, "the type of a column does not change: name it with that type, or export to another table")
			}
			continue
		}
		name := datafile.ColumnName(c.Field, func(lower string) bool { return taken[lower] })
		taken[strings.ToLower(name)] = true
		n := datafile.Named{Column: name, Field: c.Field, Kind: c.Kind}
		byField[c.Field] = n.DeltaField()
		fields = append(fields, n.DeltaField())
		sh.named = append(sh.named, n)
		sh.properties[fieldProperty+name] = c.Field
	}
	sh.properties[sourceProperty] = r.source
	sh.properties[delta.TxnRetention] = delta.Interval(r.o.MaxAge + txnMargin)
	var err error
	sh.schema, err = delta.EncodeSchema(fields)
	return sh, err
}

func orUnknown(source string) string {
	if source == "" {
		return "another program"
	}
	return source
}

// kindOf returns the kind of a named column.
func kindOf(f delta.Field) datafile.Kind {
	text, err := strconv.Unquote(string(f.Type))
	if err != nil {
		return ""
	}
	return datafile.Kind(text)
}

// checkFixed returns an error unless a table has the columns that every table has.
func checkFixed(fields []delta.Field) error {
	for _, want := range datafile.Fixed() {
		i := slices.IndexFunc(fields, func(f delta.Field) bool { return f.Name == want.Name })
		if i < 0 {
			return fmt.Errorf("it has no column %s: another program changed it", want.Name)
		}
	}
	return nil
}

// same reports whether a table has the shape.
func (sh *shape) same(table *delta.Snapshot) bool {
	old, err := delta.DecodeSchema(table.Metadata.Schema)
	if err != nil {
		return false
	}
	text, err := delta.EncodeSchema(old) // another program may have written it in another form
	return err == nil && text == sh.schema && maps.Equal(sh.properties, table.Metadata.Configuration)
}

// pending is what the next commit has.
type pending struct {
	shape *shape
	days  []*datePlan
	files []written
	adds  []delta.Add
	bytes int64
}

func (p *pending) add(d *datePlan, files written) {
	p.days = append(p.days, d)
	p.files = append(p.files, files)
	for _, a := range files.adds {
		p.adds = append(p.adds, a)
		p.bytes += a.Size
	}
}

// commit commits what is pending, given the state of the table with which it was planned. If other commits came first and it is still right,
// it tries again. Otherwise it deletes the files, and the error is [delta.ErrConflict].
func (r *run) commit(ctx context.Context, table *delta.Snapshot, p *pending) (*delta.Snapshot, error) {
	base := baseOf(table, p)
	for {
		actions := r.actions(table, p)
		if len(actions) == 0 {
			return table, nil
		}
		created := table.Version < 0
		files, dates := expired(table, r.now, r.o.Keep)
		err := r.table.Commit(ctx, table, r.commitInfo(p), actions)
		if err == nil {
			r.report.Created = r.report.Created || created
			r.report.Commits++
			r.report.ExpiredFiles += len(files)
			r.report.ExpiredDays += dates
			for i, d := range p.days {
				r.count(d, p.files[i])
			}
			return table, r.checkpoint(ctx, table)
		}
		if !errors.Is(err, delta.ErrConflict) {
			return table, err // the commit may have been successful: the files stay
		}
		if table, err = r.table.Refresh(ctx, table); err != nil {
			return table, fmt.Errorf("cannot read the table %s: %w", r.report.Table, err)
		}
		if err := table.Check(); err != nil {
			return table, errors.Join(fmt.Errorf("cannot write to the table %s: %w", r.report.Table, err), r.discard(ctx, p.adds))
		}
		if !base.holds(table, p) {
			return table, errors.Join(delta.ErrConflict, r.discard(ctx, p.adds))
		}
	}
}

// base is what a plan depends on.
type base struct {
	version  int64
	metadata string
	settings map[string]string
	replaced map[string][]string // the files of days to write anew, by date
}

func baseOf(table *delta.Snapshot, p *pending) base {
	b := base{
		version:  table.Version,
		metadata: table.Metadata.Schema,
		settings: table.Metadata.Configuration,
		replaced: make(map[string][]string),
	}
	for _, d := range p.days {
		if d.rebuild {
			date := d.day.Format(time.DateOnly)
			b.replaced[date] = filesOf(table, date)
		}
	}
	return b
}

// holds reports whether what is pending is still right.
func (b base) holds(table *delta.Snapshot, p *pending) bool {
	if b.version < 0 || table.Metadata.Schema != b.metadata || !maps.Equal(table.Metadata.Configuration, b.settings) {
		return false
	}
	for _, d := range p.days {
		if table.Txn(sealOf(d.day)) > 0 {
			return false
		}
		for _, c := range d.chains {
			app := appOf(c.Scope)
			if table.Txn(app) != c.oldVersion || table.Txn(rejectedOf(app)) != c.oldRejected {
				return false
			}
		}
	}
	for date, files := range b.replaced {
		if !slices.Equal(files, filesOf(table, date)) {
			return false
		}
	}
	return true
}

// filesOf returns the paths of the files of a date, in order.
func filesOf(table *delta.Snapshot, date string) (paths []string) {
	for path, f := range table.Files {
		if f.PartitionValues[dateColumn] == date {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

// actions returns the actions of the next commit; none if there is nothing to do.
func (r *run) actions(table *delta.Snapshot, p *pending) (actions []delta.Action) {
	now := r.now.UnixMilli()
	if table.Version < 0 {
		actions = append(actions, delta.Action{Protocol: &delta.Protocol{Reader: delta.ReaderVersion, Writer: delta.WriterVersion}},
			delta.Action{Metadata: newMetadata(now, p.shape)})
	} else if !p.shape.same(table) {
		actions = append(actions, delta.Action{Metadata: changedMetadata(table, p.shape)})
		actions = append(actions, r.seals(table)...)
	}
	for _, d := range p.days {
		if !d.rebuild {
			continue
		}
		for _, path := range filesOf(table, d.day.Format(time.DateOnly)) {
			actions = append(actions, delta.Action{Remove: delta.RemoveOf(table.Files[path], now)})
		}
	}
	files, _ := expired(table, r.now, r.o.Keep)
	for _, a := range files {
		actions = append(actions, delta.Action{Remove: delta.RemoveOf(a, now)})
	}
	for i := range p.adds {
		actions = append(actions, delta.Action{Add: &p.adds[i]})
	}
	for _, d := range p.days {
		for _, c := range d.chains {
			app := appOf(c.Scope)
			if c.version != c.oldVersion || d.rebuild {
				actions = append(actions, delta.Action{Txn: &delta.Txn{AppID: app, Version: c.version, LastUpdated: &now}})
			}
			if c.rejected != c.oldRejected || d.rebuild && c.rejected > 0 {
				actions = append(actions, delta.Action{Txn: &delta.Txn{AppID: rejectedOf(app), Version: c.rejected, LastUpdated: &now}})
			}
		}
	}
	return actions
}

// seals returns transactions for the days with files of which the table may not know any more what it has, before that time is changed.
func (r *run) seals(table *delta.Snapshot) (actions []delta.Action) {
	age, limited := recordedAge(table)
	if !limited || r.o.MaxAge <= age {
		return nil
	}
	now := r.now.UnixMilli()
	dates := make(map[string]bool)
	for _, f := range table.Files {
		dates[f.PartitionValues[dateColumn]] = true
	}
	for _, date := range slices.Sorted(maps.Keys(dates)) {
		at, err := time.Parse(time.DateOnly, date)
		if err == nil && at.Add(day).Before(r.now.Add(-age)) {
			actions = append(actions, delta.Action{Txn: &delta.Txn{AppID: sealOf(at), Version: 1, LastUpdated: &now}})
		}
	}
	return actions
}

// expired returns the files of days that ended longer ago than keep, in order, and the number of these days.
func expired(table *delta.Snapshot, now time.Time, keep time.Duration) (files []delta.Add, dates int) {
	if keep <= 0 {
		return nil, 0
	}
	before := make(map[string]bool)
	for _, path := range slices.Sorted(maps.Keys(table.Files)) {
		f := table.Files[path]
		date := f.PartitionValues[dateColumn]
		if at, err := time.Parse(time.DateOnly, date); err == nil && at.Add(day+keep).Before(now) {
			files = append(files, f)
			before[date] = true
		}
	}
	return files, len(before)
}

func newMetadata(now int64, sh *shape) *delta.Metadata {
	name, about := "logs", "Logs, exported by Logstow."
	return &delta.Metadata{
		ID:            uuid.NewString(),
		Name:          &name,
		Description:   &about,
		Format:        delta.Format{Provider: "parquet", Options: map[string]string{}},
		Created:       &now,
		Schema:        sh.schema,
		PartitionBy:   []string{dateColumn},
		Configuration: sh.properties,
	}
}

func changedMetadata(table *delta.Snapshot, sh *shape) *delta.Metadata {
	m := table.Metadata
	m.Schema, m.Configuration = sh.schema, sh.properties
	return &m
}

// commitInfo returns what the history of the table shows.
func (r *run) commitInfo(p *pending) delta.CommitInfo {
	rows := int64(0)
	for _, w := range p.files {
		rows += w.rows
	}
	return delta.CommitInfo{
		Timestamp: r.now.UnixMilli(), Operation: "WRITE", Engine: "logstow",
		Parameters: map[string]string{"mode": "Append", "partitionBy": `["` + dateColumn + `"]`},
		Metrics: map[string]string{
			"numFiles":       strconv.Itoa(len(p.adds)),
			"numOutputRows":  strconv.FormatInt(rows, 10),
			"numOutputBytes": strconv.FormatInt(p.bytes, 10),
		},
	}
}

// checkpoint writes a checkpoint if the last one is some commits ago. A failure is reported: the next run tries again.
func (r *run) checkpoint(ctx context.Context, table *delta.Snapshot) error {
	if table.Version-table.Checkpoint < checkpointEvery {
		return nil
	}
	if err := r.table.WriteCheckpoint(ctx, table, r.now); err != nil {
		if ctx.Err() != nil {
			return err
		}
		r.problem(err)
	}
	return nil
}
