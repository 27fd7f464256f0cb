package agent

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// Every setting that a reload does not apply is logged when it changes, and no other is.
func TestFixedSettings(t *testing.T) {
	t.Parallel()
	named := map[string]string{
		"Instance": "instance", "FlushSize": "flush-size", "Width": "bucket", "MaxLateness": "max-lateness",
		"MaxOpen": "open-buckets", "NoFilter": "filter", "NoIndex": "index", "Columns": "columns", "DrainTimeout": "drain-timeout", "BufferDir": "buffer", "BufferSize": "buffer",
		"Sync": "buffer", "OnFull": "buffer", "OnLostPositions": "buffer", "MetricsAddress": "metrics",
	}
	// Those that a reload applies, and those that the command line alone has.
	applied := []string{"Stores", "Service", "Inputs", "Once", "Reloadable", "RetryFor", "FlushInterval", "MaxFlushInterval", "LogMetrics", "Watch"}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[Settings]()) {
		if field.Anonymous {
			continue
		}
		var out bytes.Buffer
		p := &pipeline{log: slog.New(slog.NewTextHandler(&out, nil))}
		var again Settings
		switch v := reflect.ValueOf(&again).Elem().FieldByIndex(field.Index); v.Kind() {
		case reflect.String:
			v.SetString("other")
		case reflect.Bool:
			v.SetBool(true)
		case reflect.Int, reflect.Int64:
			v.SetInt(7)
		case reflect.Uint8:
			v.SetUint(7)
		case reflect.Slice:
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		case reflect.Struct:
			again.Stores.All = []string{"other"}
		default:
			t.Fatalf("%s is a %v", field.Name, v.Kind())
		}
		p.warnFixed(again)
		want, fixed := named[field.Name]
		logged := strings.Count(out.String(), "requires a restart")
		switch {
		case fixed == slices.Contains(applied, field.Name):
			t.Errorf("%s: neither a setting that a reload applies nor a fixed one, or both", field.Name)
		case fixed && (logged != 1 || !strings.Contains(out.String(), "setting="+want)):
			t.Errorf("%s changed: %q", field.Name, &out)
		case !fixed && logged > 0:
			t.Errorf("%s changed: %q", field.Name, &out)
		}
	}
}

// The default directory of a buffer is that of its instance in that of its service.
func TestDefaultBufferDir(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	env := func(name string) string { return map[string]string{"XDG_STATE_HOME": state}[name] }
	if dir, err := DefaultBufferDir("web", "pod-1", env); err != nil || dir != filepath.Join(state, "logstow", "web", "pod-1") {
		t.Errorf("%s, %v", dir, err)
	}
	for _, instance := range []string{".", ".."} {
		if dir, err := DefaultBufferDir("web", instance, env); err == nil {
			t.Errorf("%s: %s", instance, dir)
		}
	}
	root, err := BufferRoot(func(string) string { return "" }, os.Getuid()+1000)
	if err == nil {
		t.Errorf("without a home directory: %s", root)
	}
}
