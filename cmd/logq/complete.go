package main

import (
	"cmp"
	"context"
	_ "embed"
	"slices"
	"strings"
	"time"

	"logstow/query"
	"logstow/query/explain"
	"logstow/query/plan"
	"logstow/store/open"
)

// completeTime limits reading the stores.
const completeTime = 3 * time.Second

// completionNote is the end of the description of the command completion.
const completionNote = `

Services and fields are those of the store that the line, or $LOGSTOW_STORE,
names; fields are those of the newest records of the service.`

// values are the known values of a flag.
func values(ctx context.Context, flag string, words []string, env environment) []string {
	switch flag {
	case "service":
		return servicesOf(ctx, words, env)
	case "level":
		return append(explain.LevelNames(), "warn+", "error+")
	case "by":
		return append([]string{"level", "minute", "hour", "day", "service", "source", "instance"}, fieldsOf(ctx, words, env, listedName)...)
	case "sort":
		if words[0] == "stats" {
			return append(keysOf(words), "count")
		}
		fallthrough
	case "fields", "distinct":
		return append(fixedFields(), fieldsOf(ctx, words, env, listedName)...)
	case "where":
		return append(fixedFields(), fieldsOf(ctx, words, env, conditionName)...)
	case "tz":
		return []string{"local", "UTC"}
	case "auth":
		return []string{"auto", "key", "sas", "msi", "workload", "cli"}
	case "since":
		return []string{"15m", "1h", "1d", "1w", "today", "yesterday"}
	}
	return nil
}

// given are the values in words of a flag, which has several names.
func given(words []string, names ...string) (all []string) {
	for i, word := range words {
		name, value, joined := strings.Cut(word, "=")
		switch {
		case !slices.Contains(names, name):
		case joined:
			all = append(all, value)
		case i+1 < len(words):
			all = append(all, words[i+1])
		}
	}
	return all
}

// servicesOf are the services of the stores that words name. A store that cannot be
// listed has none.
func servicesOf(ctx context.Context, words []string, env environment) (all []string) {
	eachStore(ctx, words, env, func(ctx context.Context, s query.Store) {
		names, _ := plan.Services(ctx, s)
		all = append(all, names...)
	})
	slices.Sort(all)
	return slices.Compact(all)
}

// eachStore calls f with the stores that words name, for [completeTime] in all. One that cannot be opened
// is left out, and --file names none.
func eachStore(ctx context.Context, words []string, env environment, f func(context.Context, query.Store)) {
	if len(given(words, "--file")) > 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(env.completeTime, completeTime))
	defer cancel()
	for _, spec := range env.storeSpecs(given(words, "--store"), given(words, "--grant")) {
		s, err := open.Store(ctx, spec, open.Options{Getenv: env.getenv, Auth: strings.Join(given(words, "--auth"), "")})
		if err != nil {
			continue
		}
		f(ctx, query.ReadOnly(s))
		_ = s.Close() // nothing was written
	}
}
