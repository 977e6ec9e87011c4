package loadtest

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/checkpoint"
	"github.com/h2surge/h2surge/controllers/internal/run/runtest"
)

func TestMemory(t *testing.T) {
	m := newMemory(nil, nil, 0)
	version := func(v string) *v1alpha1.LoadTest {
		lt := runtest.New().LoadTest.DeepCopy()
		lt.ResourceVersion = v
		return lt
	}
	newest := func(lt *v1alpha1.LoadTest) *v1alpha1.LoadTest { return m.of(lt).newest(lt) }
	e := m.of(version("1"))
	e.wrote(newest(version("1")), version("2"))
	e.wrote(newest(version("1")), version("3")) // the cache is behind
	for cached, want := range map[string]string{"1": "3", "2": "3"} {
		if got := newest(version(cached)).ResourceVersion; got != want {
			t.Errorf("the cache shows %s: version %s is used, want %s", cached, got, want)
		}
	}
	if got := newest(version("4")).ResourceVersion; got != "4" {
		t.Errorf("version %s is used, want what the cache shows", got)
	}
	other := version("1")
	other.UID = "another"
	if got := newest(other).ResourceVersion; got != "1" {
		t.Errorf("what was written on one LoadTest is used for its successor: %s", got)
	}
	if len(m.runs) != 1 || m.checkpoints(checkpoint.Key{LoadTest: client.ObjectKeyFromObject(other), Run: e.uid}) != nil {
		t.Errorf("something of a LoadTest is left that another one of its name replaced: %v", m.runs)
	}
}
