package cli

import (
	"os"
	"strings"
	"testing"
)

// TestSchemaFiles: editors use the files, whose place is their $id.
func TestSchemaFiles(t *testing.T) {
	const url = "https://raw.githubusercontent.com/h2surge/h2surge/main/docs/reference/schema/"
	module := string(must(os.ReadFile("../../go.mod")))
	repository, _, _ := strings.Cut(strings.TrimPrefix(url, "https://raw.githubusercontent.com/"), "/main/")
	if !strings.HasPrefix(module, "module github.com/"+repository+"\n") {
		t.Errorf("%s is not in the repository of the module", url)
	}
	for file, args := range map[string][]string{
		"manifest.json": {}, "loadtest.json": {"LoadTest"}, "loadtestschedule.json": {"loadtestschedule"}, "target.json": {"Target"},
	} {
		got := h2surge(t, nil, nil, append([]string{"schema"}, args...)...)
		want, err := os.ReadFile("../../docs/reference/schema/" + file)
		if err != nil {
			t.Fatal(err)
		}
		if got.code != 0 || got.out != string(want) {
			t.Errorf("exit code %d; docs/reference/schema/%s differs from what the command prints: make docs", got.code, file)
		}
		if !strings.Contains(got.out, "\n \"$id\": \""+url+file+"\",\n") {
			t.Errorf("docs/reference/schema/%s has another $id", file)
		}
	}
	if got := h2surge(t, nil, nil, "schema", "Pod"); got.code != 1 || got.errors != "KIND: \"Pod\" is not known; allowed: LoadTest, LoadTestSchedule, Target\n" {
		t.Errorf("exit code %d: %s", got.code, got.errors)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
