package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	ucli "github.com/urfave/cli/v2"

	"logstow/internal/cli"
	"logstow/internal/logging"
	"logstow/internal/retry"
	"logstow/internal/sdnotify"
	"logstow/internal/units"
	"logstow/metrics"
	"logstow/query"
	"logstow/query/fetch"
	"logstow/query/plan"
	"logstow/serve"
	"logstow/serve/access"
	"logstow/serve/limits"
	webpage "logstow/serve/page"
)

// serveMemory is the soft memory limit of the server, unless GOMEMLIMIT is set.
const serveMemory = 768 << 20

func serveCommand() *ucli.Command {
	return &ucli.Command{
		Name:  "serve",
		Usage: "serve a web UI, and Loki's HTTP API for Grafana and logcli",
		UsageText: `logq serve --store ./logs
logq serve --listen :3100 --max-cost-per-day 2 --metrics
logq serve --listen 0.0.0.0:3100 --behind-proxy --tokens tokens.yaml`,
		Description: `Serves a web UI to browse logs (docs/page.md), and the read part of Loki's HTTP
API for Grafana's data source and logcli, until it is interrupted. It keeps no state,
so that any number of copies may run. docs/serve.md describes how to run it.

An address that is not loopback needs --tokens. The file is a YAML list of name,
sha256 and services (names or globs), readable by its owner only; printf %s "$TOKEN"
| sha256sum prints the digest of a token. Clients send the token as Authorization:
Bearer, or as the password of Basic. SIGHUP reloads tokens and certificate.

The web UI lists the queries of --queries, see logq saved --help.

With --watch, shippers flush the services that a live tail follows every 2 seconds
until it ends, which costs more requests. For this the server writes to a table of
watches; otherwise it only reads.

Exit status: 0 ended by a signal, 2 wrong command line or tokens, 3 failed,
4 access denied.`,
	}
}

// readServer reads the flags of the server, and those of its limits into reading.
func readServer(c *ucli.Context, env environment, reading *query.Options) (opts serve.Options, err error) {
	if c.NArg() > 0 {
		return opts, cli.Usagef("serve takes no arguments")
	}
	if err := readLimits(c, env, reading); err != nil {
		return opts, err
	}
	reading.Tiers = c.IsSet("max-cost") || c.IsSet("max-cost-per-day")
	opts = serve.Options{
		Listen: c.String("listen"), Cert: c.String("tls-cert"), Key: c.String("tls-key"), BehindProxy: c.Bool("behind-proxy"),
		Hosts: cli.List(c, "host"), Metrics: c.Bool("metrics"), Version: cli.Version(version),
		Limits: limits.Options{
			MaxBytes:   reading.MaxBytes,
			MaxCost:    reading.MaxCost,
			MaxQueries: c.Int("max-queries"),
			MaxQueued:  c.Int("max-queued"),
			Now:        env.now,
		},
	}
	l := &opts.Limits
	if l.MaxDuration, err = units.ParseZero(c.String("max-duration")); err != nil {
		return opts, cli.Usagef("--max-duration: %w", err)
	}
	if l.MaxCostPerDay, err = readDollars(c, "max-cost-per-day"); err != nil {
		return opts, err
	}
	switch {
	case l.MaxQueries < 1:
		return opts, cli.Usagef("--max-queries %d: want at least 1", l.MaxQueries)
	case l.MaxQueued < 0:
		return opts, cli.Usagef("--max-queued %d: want at least 0", l.MaxQueued)
	}
	if file := c.String("tokens"); file != "" {
		opts.Tokens, err = access.Open(file)
	}
	if err == nil {
		err = opts.Check()
	}
	if err != nil {
		err = cli.Usagef("%w", err)
	}
	return opts, err
}

func runServe(c *ucli.Context, env environment) (err error) {
	reading := query.Options{Processors: fetch.NewProcessors(runtime.GOMAXPROCS(0))}
	opts, err := readServer(c, env, &reading)
	if err != nil {
		return err
	}
	shared, err := sharedQueries(c, env)
	if err != nil {
		return err
	}
	env.limitMemory(serveMemory)
	if env.getenv("GOGC") == "" {
		debug.SetGCPercent(100) // it runs for long, with a cache: its heap is worth collecting
	}
	log := slog.New(logging.NewHandler(env.stderr, env.err.terminal()))
	ctx := retry.WithReporter(c.Context, func(a retry.Attempt) { log.Warn(a.String()) })
	running := context.WithoutCancel(ctx) // stores are open until the last request has ended
	opts.Log = log
	if opts.Metrics {
		opts.Requests = metrics.NewRequests()
		env.observe = opts.Requests.Store
	}
	stores, closeStores, err := env.openStores(running, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeStores()) }()
	if err := checkDirectories(running, stores); err != nil {
		return err
	}
	if opts.Page, err = webpage.New(); err != nil {
		return err
	}
	if c.Bool("watch") {
		opts.Watches = newServeWatches(running, stores, reading.Prices, log)
		defer opts.Watches.Close()
	}
	opts.API = newAPI(env, stores, reading, opts.Limits.MaxDuration, opts.Watches, shared, log)
	server, err := serve.New(running, opts)
	if errors.Is(err, syscall.EADDRINUSE) {
		return err
	}
	if err != nil {
		return cli.Usagef("%w", err)
	}
	defer reloadOnHangup(server)()
	manager := sdnotify.FromEnv(env.getenv, os.Getpid())
	notify := func(state string) {
		if err := manager.Send(running, state); err != nil {
			log.Warn("cannot notify systemd", "error", err)
		}
	}
	log.Info("serving", "address", server.Addr().String(), "tls", opts.Cert != "", "tokens", opts.Tokens != nil, "version", opts.Version)
	if opts.Watches != nil {
		opts.Watches.Check()
	}
	notify(sdnotify.Ready)
	watching, stop := context.WithCancel(running)
	var watch sync.WaitGroup
	watch.Go(func() { manager.Watch(watching, func() error { return nil }, log) })
	watch.Go(func() {
		select {
		case <-ctx.Done():
		case <-watching.Done(): // it failed
		}
		notify(sdnotify.Stopping)
	})
	defer watch.Wait()
	defer stop()
	began := time.Now()
	if err := server.Run(ctx); err != nil {
		return err
	}
	log.Info("done", "duration", time.Since(began))
	return nil
}

// checkDirectories returns an error if a store that is a directory cannot be listed, for example because its name is misspelled: the
// server would have no logs. A container is not listed, since an outage must not prevent the start.
func checkDirectories(ctx context.Context, stores []query.Store) error {
	for _, s := range stores {
		if !s.Free {
			continue
		}
		if _, err := plan.Services(ctx, s); err != nil {
			return fmt.Errorf("cannot serve %s: %w", s.Name, err)
		}
	}
	return nil
}

// reloadOnHangup reads tokens and certificate again at each SIGHUP; stop ends that and waits for it.
func reloadOnHangup(server *serve.Server) (stop func()) {
	received := make(chan os.Signal, 1)
	signal.Notify(received, syscall.SIGHUP)
	var waiting sync.WaitGroup
	waiting.Go(func() {
		for range received {
			_ = server.Reload() // it is logged
		}
	})
	return func() {
		signal.Stop(received)
		close(received)
		waiting.Wait()
	}
}
