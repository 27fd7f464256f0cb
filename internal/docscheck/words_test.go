package docscheck_test

import (
	"path/filepath"
	"strings"
	"testing"
)

// The pages use the field's words: none of the wordings that readers had to decode.
func TestWords(t *testing.T) {
	t.Parallel()
	for _, page := range pages(t) {
		if filepath.Base(filepath.Dir(page)) == "decisions" || filepath.Base(page) == "files.md" {
			continue // decisions keep the words of their time
		}
		text := strings.Join(strings.Fields(strings.ToLower(read(t, page))), " ")
		for _, phrase := range []string{
			"can not ", "set aside", "sets aside", "look around", "looks around", "somebody must", "side by side", "one-way door",
			"held to", "a zero explains", "put a watch", "what it lacks", "what is not so", "said once", "storage says", "goes before the file",
			"go before what", "lost answer", "no room now", "patience", "thrown away", "throws away", "throw away",
			"try again later", "tries again later",
		} {
			if strings.Contains(text, phrase) {
				t.Errorf("%s has %q", page, phrase)
			}
		}
	}
}
