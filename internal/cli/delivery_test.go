package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestSamplesOfDelivery: the files of config/delivery are valid YAML without duplicate keys, and the commands and flags of h2surge in them
// exist.
func TestSamplesOfDelivery(t *testing.T) {
	files, err := filepath.Glob("../../config/delivery/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var doc map[string]any
		if err := yaml.UnmarshalStrict(raw, &doc); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		for _, args := range commandsIn(doc) {
			n++
			cmd, rest, err := newRootCommand(linked{}).Find(args)
			if err == nil {
				err = cmd.ParseFlags(rest)
			}
			if err != nil || !cmd.Runnable() {
				t.Errorf("%s: h2surge %s: %v", file, strings.Join(args, " "), err)
			}
		}
	}
	if n != 4 {
		t.Errorf("%d command lines, want 4: one in each file", n)
	}
}

// commandsIn returns the arguments of h2surge: of containers with command [/h2surge], and of texts that begin with "h2surge ".
func commandsIn(v any) (out [][]string) {
	switch v := v.(type) {
	case map[string]any:
		if c, ok := v["command"].([]any); ok && len(c) == 1 && c[0] == "/h2surge" {
			var args []string
			for _, a := range v["args"].([]any) {
				args = append(args, a.(string))
			}
			out = append(out, args)
		}
		for _, e := range v {
			out = append(out, commandsIn(e)...)
		}
	case []any:
		for _, e := range v {
			out = append(out, commandsIn(e)...)
		}
	case string:
		if args, ours := strings.CutPrefix(v, "h2surge "); ours {
			out = append(out, strings.Fields(args))
		}
	}
	return out
}
