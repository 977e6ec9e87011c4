package loadtest

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/run/runtest"
)

func TestMemory(t *testing.T) {
	m := &memory{runs: map[types.NamespacedName]*memoryEntry{}}
	version := func(v string) *v1alpha1.LoadTest {
		lt := runtest.New().LoadTest.DeepCopy()
		lt.ResourceVersion = v
		return lt
	}
	m.wrote(m.newest(version("1")), version("2"))
	m.wrote(m.newest(version("1")), version("3")) // the cache is behind
	for cached, want := range map[string]string{"1": "3", "2": "3"} {
		if got := m.newest(version(cached)).ResourceVersion; got != want {
			t.Errorf("the cache shows %s: version %s is used, want %s", cached, got, want)
		}
	}
	if got := m.newest(version("4")).ResourceVersion; got != "4" {
		t.Errorf("version %s is used, want what the cache shows", got)
	}
	other := version("1")
	other.UID = "another"
	if got := m.newest(other).ResourceVersion; got != "1" {
		t.Errorf("what was written on one LoadTest is used for its successor: %s", got)
	}
}
