package check

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclparse"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// The Terraform module is valid HCL; whatever it refers to is declared, and whatever is declared is used. Providers, which know the
// attributes of resources, cannot be had offline.
func TestTerraform(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("..", "azure", "terraform", "*.tf"))
	if err != nil || len(files) != 2 {
		t.Fatal(files, err)
	}
	declared, used := map[string]bool{}, map[string]bool{}
	parser := hclparse.NewParser()
	for _, name := range files {
		file, diagnostics := parser.ParseHCLFile(name)
		if diagnostics.HasErrors() {
			t.Fatal(diagnostics)
		}
		body, ok := file.Body.(*hclsyntax.Body)
		if !ok {
			t.Fatalf("%s is not in the syntax of Terraform", name)
		}
		for _, b := range body.Blocks {
			switch b.Type {
			case "variable":
				declared["var."+b.Labels[0]] = true
			case "resource":
				declared[strings.Join(b.Labels, ".")] = true
			case "data":
				declared["data."+strings.Join(b.Labels, ".")] = true
			case "locals":
				for name := range b.Body.Attributes {
					declared["local."+name] = true
				}
			}
		}
		for _, traversal := range traversals(body) {
			if name := reference(traversal); name != "" {
				used[name] = true
			}
		}
	}
	for name := range used {
		if !declared[name] {
			t.Errorf("%s is used and not declared", name)
		}
	}
	for name := range declared {
		if !used[name] && (strings.HasPrefix(name, "var.") || strings.HasPrefix(name, "local.")) {
			t.Errorf("%s is declared and not used", name)
		}
	}
	if len(used) < 20 {
		t.Errorf("only %d references", len(used))
	}
}

// traversals are the references of a body and of its blocks.
func traversals(body *hclsyntax.Body) (all []hcl.Traversal) {
	for _, a := range body.Attributes {
		all = append(all, a.Expr.Variables()...)
	}
	for _, b := range body.Blocks {
		all = append(all, traversals(b.Body)...)
	}
	return all
}

// reference is what a traversal refers to: "" for what Terraform defines itself.
func reference(traversal hcl.Traversal) string {
	parts := []string{traversal.RootName()}
	for _, step := range traversal[1:] {
		if a, ok := step.(hcl.TraverseAttr); ok {
			parts = append(parts, a.Name)
		} else {
			break
		}
	}
	n := 2
	switch parts[0] {
	case "each", "count", "self", "private_dns_zone_group", "string", "number", "bool", "set", "map":
		return ""
	case "data":
		n = 3
	}
	return strings.Join(parts[:min(n, len(parts))], ".")
}

// The Bicep module declares what it uses and uses what it declares. Its compiler cannot be had offline.
func TestBicep(t *testing.T) {
	t.Parallel()
	text := string(read(t, "..", "azure", "bicep", "main.bicep"))
	code := regexp.MustCompile(`(?m)//[^'\n]*$|^@description.*$`).ReplaceAllString(text, "")
	names := regexp.MustCompile(`(?m)^(?:param|var|resource) (\w+)`).FindAllStringSubmatch(code, -1)
	if len(names) < 30 {
		t.Fatalf("declarations %q", names)
	}
	unused := []string{"federated", "rawRoles", "compactedRoles", "tableRoles", "syncRole", "readRaw", "readCompacted", "readTables", "watchRoles", "lifecycle", "zones", "maintenance"}
	for _, name := range names {
		n := len(regexp.MustCompile(`\b`+name[1]+`\b`).FindAllString(code, -1))
		if leaf := slices.Contains(unused, name[1]); n < 2 && !leaf {
			t.Errorf("%s is declared and not used", name[1])
		}
	}
	for _, pair := range []string{"{}", "[]", "()"} {
		if strings.Count(code, pair[:1]) != strings.Count(code, pair[1:]) {
			t.Errorf("the %s do not match", pair)
		}
	}
	for _, name := range regexp.MustCompile(`\broles\.(\w+)`).FindAllStringSubmatch(code, -1) {
		if !regexp.MustCompile(`(?m)^  ` + name[1] + `: '[0-9a-f-]{36}'`).MatchString(text) {
			t.Errorf("no role %s", name[1])
		}
	}
}

// Both modules give each program the roles that docs/security.md lists.
func TestAzureRoles(t *testing.T) {
	t.Parallel()
	bicep, terraform := string(read(t, "..", "azure", "bicep", "main.bicep")), string(read(t, "..", "azure", "terraform", "main.tf"))
	roles := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^  (\w+): '[0-9a-f-]{36}' // (.*)$`).FindAllStringSubmatch(bicep, -1) {
		roles["roles."+m[1]] = m[2]
	}
	table := map[string][]string{} // program: roles for blobs and tables, of docs/security.md
	for _, line := range strings.Split(string(read(t, "..", "..", "docs", "security.md")), "\n") {
		if cells := strings.Split(line, "|"); len(cells) == 7 {
			role := regexp.MustCompile(`\*(Storage [^*]*)\*`)
			blob, entity := role.FindStringSubmatch(cells[4]), role.FindStringSubmatch(cells[5])
			if blob != nil && entity != nil {
				table[strings.Trim(cells[1], " `")] = []string{blob[1], entity[1]}
			}
		}
	}
	of := map[string]string{
		"shipper": "shipper run", "relay": "shipper run", "compact": "shipper compact", "retain": "shipper retain",
		"verify": "shipper verify", "export": "logq", "serve": "logq",
	}
	for program, row := range of {
		want := table[row]
		b := regexp.MustCompile(`name: '` + program + `', raw: (\S+), compacted: (\S+), table: (\S+) `).FindStringSubmatch(bicep)
		f := regexp.MustCompile(`(?m)^    ` + program + ` *= \{ raw = "(.*)", compacted = "(.*)", table = "(.*)" \}$`).FindStringSubmatch(terraform)
		if want == nil || b == nil || f == nil {
			t.Errorf("%s: %q, %q, %q", program, want, b, f)
			continue
		}
		compacted := want[0]
		if row == "shipper run" { // must not write there
			compacted = ""
		}
		expected := []string{want[0], compacted, want[1]}
		if !slices.Equal(f[1:], expected) {
			t.Errorf("Terraform: %s has %q, want %q", program, f[1:], expected)
		}
		if got := []string{roles[b[1]], roles[b[2]], roles[b[3]]}; !slices.Equal(got, expected) {
			t.Errorf("Bicep: %s has %q, want %q", program, got, expected)
		}
	}
}
