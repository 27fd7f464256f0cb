package check

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kyaml "k8s.io/apimachinery/pkg/util/yaml"
	_ "sigs.k8s.io/kubectl-validate/pkg/utils" // go.mod keeps the module, whose files are read
	"sigs.k8s.io/yaml"
)

// chartDir is the chart, namespace that of the release in tests, minimum the oldest Kubernetes that the chart is for.
const (
	namespace = "logstow"
	minimum   = "1.30"
)

func chartDir() string { return filepath.Join("..", "chart") }

// valueFiles are the names of the files of values, such as "relay".
func valueFiles(t *testing.T) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(chartDir(), "ci", "*-values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(f), "-values.yaml"))
	}
	if len(names) < 12 {
		t.Fatalf("files of values: %q", names)
	}
	return names
}

func values(t *testing.T, name string) (v map[string]any) {
	t.Helper()
	if err := yaml.UnmarshalStrict(read(t, chartDir(), "ci", name+"-values.yaml"), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// object is one that the chart renders.
type object struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        metav1.ObjectMeta `json:"metadata"`
	text            []byte
}

// renderValues renders the chart with values, as helm template does.
func renderValues(v map[string]any) (objects []object, err error) {
	chart, err := loader.Load(chartDir())
	if err != nil {
		return nil, err
	}
	all, err := util.ToRenderValues(chart, v, common.ReleaseOptions{Name: "logstow", Namespace: namespace, IsInstall: true, Revision: 1}, nil)
	if err != nil {
		return nil, err
	}
	files, err := engine.Render(chart, all)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if filepath.Ext(name) != ".yaml" {
			continue
		}
		documents := kyaml.NewDocumentDecoder(io.NopCloser(strings.NewReader(files[name])))
		for {
			text := make([]byte, 1<<20)
			n, err := documents.Read(text)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			o := object{text: text[:n]}
			if err := yaml.Unmarshal(o.text, &o); err != nil {
				return nil, fmt.Errorf("%s: %w\n%s", name, err, o.text)
			}
			if o.Kind != "" {
				objects = append(objects, o)
			}
		}
	}
	return objects, nil
}

func render(t *testing.T, name string) []object {
	t.Helper()
	objects, err := renderValues(values(t, name))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return objects
}

// helm lint has nothing to say for any file of values.
func TestLint(t *testing.T) {
	t.Parallel()
	for _, name := range valueFiles(t) {
		for _, m := range lint.RunAll(chartDir(), values(t, name), namespace).Messages {
			if !strings.Contains(m.Error(), "icon is recommended") {
				t.Errorf("%s: %v", name, m)
			}
		}
	}
}

// A misspelled or impossible value is rejected by the schema; one that the chart cannot do without is asked for.
func TestRejectedValues(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"node: {enable: false}":                 "enable",
		"retian: {keep: 7d}":                    "retian",
		"retain: {keep: forever}":               "keep",
		"identities: {shipper: my-identity}":    "shipper",
		"relay: {replicas: 0}":                  "replicas",
		"image: {repository: ''}":               "repository",
		"store: {url: logs}":                    "url",
		"compact: {schedule: hourly}":           "schedule",
		"node: {resources: {limits: {}}, x: 1}": "x",
		"export: {enabled: true}":               "export.to names where the table is",
	} {
		var v map[string]any
		if err := yaml.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		if _, err := renderValues(v); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// Every object agrees with Kubernetes' own schemas, is in the release's namespace and has a name of its own.
func TestKubernetesSchemas(t *testing.T) {
	t.Parallel()
	schemas := newSchemas(t)
	for _, name := range valueFiles(t) {
		seen := map[string]bool{}
		for _, o := range render(t, name) {
			id := o.Kind + " " + o.Metadata.Name
			if err := schemas.check(o.APIVersion, o.Kind, o.text); err != nil {
				t.Errorf("%s: %s: %v", name, id, err)
			}
			if _, err := decode(o.text, o.Kind); err != nil {
				t.Errorf("%s: %s: %v", name, id, err)
			}
			if scoped := !strings.HasPrefix(o.Kind, "ClusterRole"); scoped != (o.Metadata.Namespace == namespace) {
				t.Errorf("%s: %s is in namespace %q", name, id, o.Metadata.Namespace)
			}
			if seen[id] {
				t.Errorf("%s: two of %s", name, id)
			}
			seen[id] = true
		}
	}
	// The check itself finds what is wrong.
	for text, want := range map[string]string{
		"apiVersion: apps/v1\nkind: DaemonSet\nspec: {template: {}}":                  "selector",
		"apiVersion: v1\nkind: Service\nspec: {ports: [{name: http}]}":                "port",
		"apiVersion: batch/v1\nkind: CronJob\nspec: {schedule: 5, jobTemplate: {}}\n": "string",
	} {
		var o object
		if err := yaml.Unmarshal([]byte(text), &o); err != nil {
			t.Fatal(err)
		}
		if err := schemas.check(o.APIVersion, o.Kind, []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// schemas are those of Kubernetes' API, by path of the group and version.
type schemas struct {
	compiler *jsonschema.Compiler
	// kinds are the names of the schemas, by "apps/v1 DaemonSet".
	kinds map[string]string
}

func newSchemas(t *testing.T) *schemas {
	t.Helper()
	s := &schemas{jsonschema.NewCompiler(), map[string]string{}}
	s.compiler.DefaultDraft(jsonschema.Draft4)
	// Kubernetes' published OpenAPI documents are files of this module. Its packages do not compile with the client of Helm.
	module, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/kubectl-validate").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"api/v1", "apis/apps/v1", "apis/batch/v1", "apis/rbac.authorization.k8s.io/v1"} {
		text := read(t, strings.TrimSpace(string(module)), "pkg", "openapiclient", "builtins", minimum, filepath.FromSlash(path)+".json")
		document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		url := "mem:///" + path + ".json"
		if err := s.compiler.AddResource(url, document); err != nil {
			t.Fatal(err)
		}
		var known struct {
			Components struct {
				Schemas map[string]struct {
					Kinds []struct{ Group, Version, Kind string } `json:"x-kubernetes-group-version-kind"`
				}
			}
		}
		if err := json.Unmarshal(text, &known); err != nil {
			t.Fatal(err)
		}
		for name, schema := range known.Components.Schemas {
			for _, k := range schema.Kinds {
				s.kinds[strings.TrimPrefix(k.Group+"/"+k.Version, "/")+" "+k.Kind] = url + "#/components/schemas/" + name
			}
		}
	}
	return s
}

func (s *schemas) check(version, kind string, text []byte) error {
	url, ok := s.kinds[version+" "+kind]
	if !ok {
		return fmt.Errorf("no schema of a %s of %s", kind, version)
	}
	schema, err := s.compiler.Compile(url)
	if err != nil {
		return err
	}
	asJSON, err := yaml.YAMLToJSON(text)
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(asJSON))
	if err != nil {
		return err
	}
	return schema.Validate(value)
}
