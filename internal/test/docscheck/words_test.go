package docscheck_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// oldNames are former names of functions, methods, types, fields and package-level variables and
// constants by package. Standard terms replaced them. Local variables may have such names.
func oldNames() map[string][]string {
	return map[string][]string{
		"audit":            {"doubtful", "lookAgain", "lookAtHalves", "servicesAtOnce", "settleLost", "usualSettle"},
		"buffer":           {"keep", "landed", "lane", "lanes", "Mark", "relieve", "room", "spare", "tidy"},
		"buffer/wal":       {"Mark", "spare", "spares"},
		"grant":            {"MaxLife", "containerReady", "ended", "outside"},
		"input":            {"before", "hand", "parked", "Refused", "sayCut", "sayMissed", "sayRefused"},
		"input/forward":    {"DefaultPatience", "giveBack", "Patience", "push", "room", "roomWait"},
		"input/httpserver": {"drained", "errEnding"},
		"input/journald":   {"maxSaid", "said"},
		"input/listen":     {"Alarm", "NewAlarm", "tellEvery"},
		"input/syslog":     {"DefaultPatience", "Patience", "room", "roomWait"},
		"input/tail":       {"bequeath", "isTurn", "lookAround", "rescue", "telling"},
		"internal/retry":   {"Reporting", "quietFor", "unansweredFor"},
		"metrics":          {"Shipper", "fullAt", "lately"},
		"process":          {"sayEvery", "unsaid"},
		"query":            {"ahead", "fold", "haul", "holding", "needle", "surroundings", "sweep"},
		"record/recognize": {"Guard", "Refused", "Taken"},
		"retention":        {"foresee", "foreseen", "foreseeTable", "tidy", "vague"},
		"store":            {"ErrRefused", "Version"},
		"store/azure":      {"Beside", "asksForToken", "firstOfEach", "notUnderstood", "readAnswer", "taking"},
		"tableindex":       {"ErrRow", "NewRow", "Row", "Rows"},
		"upload":           {"elsewhere", "errSetAside", "firsts", "firstsKey", "giveBack", "hurry", "sayEvery", "scarce", "trouble", "Trouble", "wantsHelp"},
	}
}

// oldPhrases occur neither in code nor in text.
func oldPhrases() []string {
	return []string{
		"can not",
		`"logstow/ship"`, "internal/patience", "store.ErrRefused", "store.Version", "errSetAside", "wantsHelp", "lookAround",
		"bequeath",
		"flags go before what it says",
		"NAME of who logs",
		"no host is the loopback interface",
		"write what lets logq find identifiers without reading the rest",
		"cut lines at this SIZE, with a mark",
		"most that the buffer takes on disk",
		"make records durable WHEN",
		"ask logs in blob storage",
		"records that hold every PATTERN",
		"wrong selection",
		"not a time for colours",
		"nothing is kept",
		"looking costs",
		"time is not taken",
		"no notices, by the clock",
		"what it still has to say",
		"somebody must allow it",
		"took up records",
		"changed by a restart only",
		"configuration is not taken",
		"make the index say what is stored",
		"delete the days that are past what is to be kept",
		"works again",
		"does not work; trying again",
		"access refused",
		"retention policy refused",
		"all segments are stored, but not in the index",
		"is no time at all",
		"journalctl has something to say",
		"said once a source",
		"said at most once",
		"times lie ahead of the clock",
		"there is no configuration file",
		"shipper_buffer_", "shipper_input_", "shipper_output_", "shipper_storage_", "shipper_segment_", "shipper_lag_",
	}
}

// pending are the old names and phrases that still occur, by directory. Whoever removes the last
// occurrence removes the entry here.
func pending() map[string][]string {
	return map[string][]string{}
}

// Old names and phrases stay out of the tree, except where pending lists them.
func TestOldWords(t *testing.T) {
	t.Parallel()
	left := pending()
	found := make(map[string]map[string]bool)
	report := func(path, word string) {
		area := pendingArea(path)
		if found[area] == nil {
			found[area] = make(map[string]bool)
		}
		found[area][word] = true
		if !slices.Contains(left[area], word) {
			t.Errorf("%s: %q is an old word", path, word)
		}
	}
	names, phrases := oldNames(), oldPhrases()
	files := 0
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		path, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		path = filepath.ToSlash(path)
		if entry.IsDir() {
			if slices.Contains([]string{".git", "node_modules", "bin", "dist", "demo-store"}, entry.Name()) || path == "docs/decisions" {
				return filepath.SkipDir
			}
			return nil
		}
		if path == "CHANGELOG.md" || path == "internal/test/docscheck/words_test.go" || !entry.Type().IsRegular() {
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil || len(text) > 1<<20 || !utf8.Valid(text) {
			return err
		}
		files++
		for _, phrase := range phrases {
			if strings.Contains(string(text), phrase) {
				report(path, phrase)
			}
		}
		dir, _, _ := strings.Cut(path, filepath.Base(path))
		if old := names[strings.TrimSuffix(dir, "/")]; len(old) > 0 && strings.HasSuffix(path, ".go") {
			for _, name := range declaredNames(t, file, text) {
				if slices.Contains(old, name) {
					report(path, name)
				}
			}
		}
		return nil
	})
	if err != nil || files < 500 {
		t.Fatalf("%d files: %v", files, err)
	}
	for area, words := range left {
		for _, word := range words {
			if !found[area][word] {
				t.Errorf("%q no longer occurs in %s: remove it from pending", word, area)
			}
		}
	}
}

// pendingArea is the directory under which pending lists a file.
func pendingArea(path string) string {
	for _, area := range []string{"buffer", "cmd/logq", "cmd/shipper", "docs", "input/tail", "query", "README.md"} {
		if path == area || strings.HasPrefix(path, area+"/") {
			return area
		}
	}
	return "."
}

// declaredNames are the names that a Go file declares outside of functions, with those of fields and methods.
func declaredNames(t *testing.T, path string, text []byte) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok {
			names = append(names, f.Name.Name)
			continue
		}
		ast.Inspect(d, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TypeSpec:
				names = append(names, n.Name.Name)
			case *ast.ValueSpec:
				for _, id := range n.Names {
					names = append(names, id.Name)
				}
			case *ast.StructType:
				names = append(names, fieldNames(n.Fields)...)
			case *ast.InterfaceType:
				names = append(names, fieldNames(n.Methods)...)
			case *ast.FuncLit:
				return false
			}
			return true
		})
	}
	return names
}

func fieldNames(list *ast.FieldList) []string {
	var names []string
	for _, f := range list.List {
		for _, id := range f.Names {
			names = append(names, id.Name)
		}
	}
	return names
}
