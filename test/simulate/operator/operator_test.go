package operator

import (
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers"
	"github.com/h2surge/h2surge/test/builder"
	"github.com/h2surge/h2surge/test/simulate/apiserver"
)

func TestValidate(t *testing.T) {
	s := apiserver.New(Scheme())
	s.Admit = Validate
	if _, err := apiserver.Create(s, builder.Minimal("right").Namespace("ns").Build()); err != nil {
		t.Error(err)
	}
	wrong := builder.Minimal("wrong").Namespace("ns").Shards(-1).Build()
	if _, err := apiserver.Create(s, wrong); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "spec.runner.shards") {
		t.Errorf("error %v", err)
	}
}

// TestElection: one of two replicas leads. The other one follows it when it stops, and when it does not reach the API
// server.
func TestElection(t *testing.T) {
	for _, tt := range []struct {
		name string
		end  func(*Replica)
		// within is when the other one leads.
		within time.Duration
		err    string
	}{
		{"stopped", (*Replica).Stop, 6 * time.Second, ""},
		{"killed", (*Replica).Kill, 30 * time.Second, ""},
		{"refused", func(r *Replica) { r.API.Set(apiserver.Down) }, 30 * time.Second, "is the leader now"},
		{"silent", func(r *Replica) { r.API.Set(apiserver.Silent) }, 30 * time.Second, "is the leader now"},
		{"no answer", func(r *Replica) { r.API.Set(apiserver.NoAnswer) }, time.Minute, "is the leader now"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := apiserver.New(Scheme())
				start := func(name string) *Replica {
					r, err := Start(s, name, Config(), controllers.Options{}, logr.Discard())
					if err != nil {
						t.Fatal(err)
					}
					time.Sleep(5 * time.Second)
					return r
				}
				a, b := start("a"), start("b")
				defer a.Stop()
				defer b.Stop()
				if !a.Leader.Leading() || b.Leader.Leading() {
					t.Fatal("the first one does not lead")
				}
				tt.end(a)
				for begin := time.Now(); !b.Leader.Leading(); time.Sleep(100 * time.Millisecond) {
					if time.Since(begin) > tt.within {
						t.Fatalf("the other one does not lead after %v", tt.within)
					}
				}
				if a.Leader.Leading() {
					t.Error("both lead")
				}
				a.API.Set(apiserver.Up)
				time.Sleep(10 * time.Second)
				a.Stop()
				if tt.err == "" && a.Err != nil || tt.err != "" && (a.Err == nil || !strings.Contains(a.Err.Error(), tt.err)) {
					t.Errorf("error %v, want %q", a.Err, tt.err)
				}
			})
		})
	}
}

// TestStopAtTheStart: a replica that waits for the API server ends when it is stopped.
func TestStopAtTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, err := Start(apiserver.New(Scheme()), "a", Config(), controllers.Options{}, logr.Discard())
		if err != nil {
			t.Fatal(err)
		}
		r.API.Set(apiserver.Silent)
		time.Sleep(5 * time.Second)
		begin := time.Now()
		if r.Stop(); time.Since(begin) > 10*time.Second {
			t.Errorf("it ended after %v", time.Since(begin))
		}
	})
}

// TestForbiddenNamespaces: a namespace that the operator may not read, such as a deleted one, does not stop the tests of the others. When the
// operator may read it, the process ends, so that the next one watches it.
func TestForbiddenNamespaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var allowed atomic.Pointer[string]
		s := apiserver.New(Scheme())
		s.Fault = func(r apiserver.Request) apiserver.Fault {
			if all := *allowed.Load(); !strings.HasPrefix(r.Namespace, "team-") || strings.Contains(all, r.Namespace) {
				return apiserver.Fault{}
			}
			return apiserver.Fault{Err: apierrors.NewForbidden(schema.GroupResource{Resource: r.Kind}, r.Name, nil)}
		}
		cfg := Config()
		cfg.Namespaces = []string{"team-a", "team-b", "team-c"}
		for _, ns := range cfg.Namespaces {
			if _, err := apiserver.Create(s, builder.Minimal("test").Namespace(ns).Build()); err != nil {
				t.Fatal(err)
			}
		}
		for _, tt := range []struct{ allowed, then, err string }{
			{"", "", "team-a, team-b, team-c"},
			{"team-a", "team-a team-c", "team-c"},
			{"team-a team-c", "team-a team-c", ""},
		} {
			allowed.Store(&tt.allowed)
			r, err := Start(s, "a", cfg, controllers.Options{}, logr.Discard())
			if err == nil {
				time.Sleep(5 * time.Minute)
				for _, ns := range cfg.Namespaces {
					lt := apiserver.Find[*v1alpha1.LoadTest](s, ns, "test")
					if watched := lt.Status.Phase != ""; watched != strings.Contains(tt.allowed, ns) {
						t.Errorf("with rights in %q, the LoadTest of %s is %q", tt.allowed, ns, lt.Status.Phase)
					}
				}
				allowed.Store(&tt.then)
				time.Sleep(5 * time.Minute)
				r.Stop()
				err = r.Err
			}
			if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
				t.Errorf("with rights in %q, error %v, want %q", tt.allowed, err, tt.err)
			}
		}
	})
}
