package cli

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/h2surge/h2surge/internal/mock"
)

var generated = strings.Replace(manifest, "name: small", "generateName: small-", 1)

// TestGenerateName: a name is made for each run, and nothing else depends on its random characters.
func TestGenerateName(t *testing.T) {
	var seeds []uint64
	names := map[string]bool{}
	for range 3 {
		e := newFakeEngine(answered(100, 0, 1000))
		if got := h2surge(t, e, nil, "run", "-f", file(t, "m.yaml", generated), "-o", "json"); got.code != 0 {
			t.Fatalf("exit code %d, %s", got.code, got.errors)
		}
		if !regexp.MustCompile(`^default/small-[a-z0-9]{5}$`).MatchString(e.plan.Name) {
			t.Errorf("the name is %q", e.plan.Name)
		}
		names[e.plan.Name] = true
		seeds = append(seeds, e.plan.Seed)
	}
	if len(names) < 2 || seeds[0] != seeds[1] || seeds[0] != seeds[2] {
		t.Errorf("names %v, seeds %v", names, seeds)
	}
}

// TestGenerateNameIsKept when a manifest is read again.
func TestGenerateNameIsKept(t *testing.T) {
	s, j := compiled(t, generated)
	again, err := s.compile()
	if err != nil || again.plan.Name != j.plan.Name || again.hash != j.hash {
		t.Errorf("%v, %s was %s", err, again.plan.Name, j.plan.Name)
	}
}

func TestGenerateNameElsewhere(t *testing.T) {
	peer := serve(t, mock.Options{})
	at := "http://" + peer.Addr().String()
	for _, args := range [][]string{{"lint"}, {"try", "--dry-run"}, {"try", "--target-url", at}, {"run", "--dry-run"}} {
		var out, errors bytes.Buffer
		command := append([]string{"h2surge"}, append(args, "-f", "-")...)
		if code := execute(t.Context(), command, strings.NewReader(generated), &out, &errors, parts()); code != 0 {
			t.Errorf("%v: exit code %d, %s%s", args, code, errors.String(), out.String())
		}
	}
	none := strings.Replace(manifest, "name: small", "labels: {}", 1)
	for _, args := range [][]string{{"lint"}, {"try"}, {"run"}} {
		got := h2surge(t, nil, nil, append(args, file(t, "m.yaml", none))...)
		want := "m.yaml:3: metadata.name: is required; or set metadata.generateName to the beginning of a name\n"
		if got.code != 1 || !strings.HasSuffix(got.out+got.errors, want) {
			t.Errorf("%v without a name: exit code %d, %s%s", args, got.code, got.out, got.errors)
		}
	}
}
