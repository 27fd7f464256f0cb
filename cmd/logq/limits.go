package main

import (
	"errors"
	"fmt"
	"math"

	ucli "github.com/urfave/cli/v2"

	"logstow/internal/cli"
	"logstow/internal/limited"
	"logstow/internal/price"
	"logstow/internal/units"
	"logstow/query"
)

// readOptions reads the plan and the limits, and whether --explain needs the tiers of blobs.
func (r *request) readOptions() (err error) {
	r.opts.Tiers = r.explain || r.c.IsSet("max-cost")
	if r.opts.Plan = query.PlanList; r.c.String("plan") == query.PlanIndex {
		r.opts.Plan = query.PlanIndex
	}
	return readLimits(r.c, r.env, &r.opts)
}

// readLimits reads --max-bytes, --max-cost and --prices.
func readLimits(c *ucli.Context, env environment, opts *query.Options) (err error) {
	opts.TempDir = env.tempDir
	if c.IsSet("max-bytes") {
		if opts.MaxBytes, err = readSize(c, "max-bytes"); err != nil {
			return err
		}
	}
	if opts.MaxCost, err = readDollars(c, "max-cost"); err != nil {
		return err
	}
	opts.Prices, err = prices(c, env)
	return err
}

// readSize reads a number of bytes.
func readSize(c *ucli.Context, name string) (int64, error) {
	n, err := units.ParseSize(c.String(name))
	if err != nil || n < 1 {
		return 0, cli.Usagef("--%s %q: want a size of at least one byte, such as 500MB or 2GiB", name, c.String(name))
	}
	return n, nil
}

// readMemory reads --memory, and sets the limit of the runtime.
func (r *request) readMemory() (err error) {
	if r.opts.GroupMemory, err = readSize(r.c, "memory"); err == nil {
		r.env.limitGroups(r.opts.GroupMemory)
	}
	return err
}

// readDollars reads a limit in dollars; 0 if it is not given.
func readDollars(c *ucli.Context, name string) (float64, error) {
	limit := c.Float64(name)
	if c.IsSet(name) && !(limit > 0 && limit <= math.MaxFloat64) {
		return 0, cli.Usagef("--%s %v: want more than 0", name, limit)
	}
	return limit, nil
}

// prices returns the prices in the file of --prices, otherwise of $LOGSTOW_PRICES; nil if neither is given.
func prices(c *ucli.Context, env environment) (*price.Table, error) {
	from, name := "--prices", c.String("prices")
	if name == "" {
		from, name = "LOGSTOW_PRICES", env.getenv("LOGSTOW_PRICES")
	}
	if name == "" {
		return nil, nil //nolint:nilnil // the default ones
	}
	const most = 1 << 20 // bytes
	data, err := limited.File(name, most)
	if err != nil {
		return nil, cli.Usagef("%s: %w", from, err)
	}
	table, err := price.Parse(data)
	if err != nil {
		return nil, cli.Usagef("%s %s: %w", from, name, err)
	}
	return &table, nil
}

// overBudget explains a query that stopped at --max-bytes or --max-cost.
func (r *request) overBudget(err error) error {
	if !errors.Is(err, query.ErrBudget) {
		return err
	}
	limit := fmt.Sprintf("--max-bytes %s", units.FormatSize(r.opts.MaxBytes))
	switch {
	case r.opts.MaxBytes > 0 && r.opts.MaxCost > 0:
		limit += fmt.Sprintf(" or --max-cost %g", r.opts.MaxCost)
	case r.opts.MaxCost > 0:
		limit = fmt.Sprintf("--max-cost %g", r.opts.MaxCost)
	}
	return fmt.Errorf("stopped, incomplete: %w (%s)", err, limit)
}
