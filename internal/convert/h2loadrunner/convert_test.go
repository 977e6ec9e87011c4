package h2loadrunner

import (
	"path/filepath"
	"testing"

	"github.com/h2surge/h2surge/internal/convert"
	"github.com/h2surge/h2surge/internal/convert/converttest"
	"github.com/h2surge/h2surge/test/golden"
)

func with(o convert.Options) converttest.Conversion {
	return func(config string) ([]byte, []string, error) { return Convert([]byte(config), o) }
}

// example is a configuration of testdata.
func example(tb testing.TB, name string) string {
	return converttest.Input(tb, filepath.Join(name, "config.json"))
}

func TestConvert(t *testing.T) {
	for _, name := range []string{"sessions", "everything"} {
		t.Run(name, func(t *testing.T) {
			out, warnings := with(convert.Options{Name: name, Read: converttest.Below(name)}).Convert(t, example(t, name))
			golden.Compare(t, filepath.Join(name, "loadtest.yaml"), out)
			golden.Compare(t, filepath.Join(name, "warnings.txt"), converttest.Lines(warnings))
		})
	}
}
