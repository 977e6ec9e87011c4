package operator

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

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
