package auth

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// script is a source that answers one step after the other, and the last again and again.
type script struct {
	began time.Time
	log   []string
	steps []step
}

type step struct {
	grant
	err error
	// took is how long it takes, unless the attempt ends before.
	took time.Duration
}

func (s *script) fetch(ctx context.Context) (grant, error) {
	s.note("fetch")
	now := s.steps[0]
	if len(s.steps) > 1 {
		s.steps = s.steps[1:]
	}
	if !wait(ctx, now.took) {
		return grant{}, temporary{ctx.Err()}
	}
	return now.grant, now.err
}

func (s *script) update(value []byte, err error) {
	if err != nil {
		value = []byte(err.Error())
	}
	s.note(string(value))
}

func (s *script) note(what string) {
	s.log = append(s.log, fmt.Sprintf("%v %s", time.Since(s.began), what))
}

func token(value string, lifetime time.Duration) step {
	return step{grant: grant{value: []byte(value), lifetime: lifetime, refresh: lifetime - min(lifetime/2, 30*time.Second)}}
}

func TestKeep(t *testing.T) {
	down := step{err: errors.New("down")}
	for _, tc := range []struct {
		name  string
		first step
		steps []step
		lasts time.Duration
		want  string
	}{
		{
			name: "refreshed before it expires", first: token("a", 5*time.Minute),
			steps: []step{token("b", 10*time.Second), token("c", time.Hour)}, lasts: 10 * time.Minute,
			want: "4m30s fetch, 4m30s b, 4m35s fetch, 4m35s c",
		},
		{
			name: "the same value causes no update", first: token("a", time.Minute),
			steps: []step{token("a", time.Hour)}, lasts: 10 * time.Minute,
			want: "30s fetch",
		},
		{
			name: "failures while the old one is valid", first: token("a", 5*time.Minute),
			steps: []step{down, down, down, token("b", 2*time.Minute), down, token("c", time.Hour)}, lasts: 10 * time.Minute,
			want: "4m30s fetch, 4m31s fetch, 4m33s fetch, 4m37s fetch, 4m37s b, 6m7s fetch, 6m8s fetch, 6m8s c",
		},
		{
			name: "expired, reported once, and found again", first: token("a", time.Minute),
			steps: []step{down, down, down, down, down, down, down, down, token("a", time.Hour)}, lasts: 10 * time.Minute,
			want: "30s fetch, 31s fetch, 33s fetch, 37s fetch, 45s fetch, 1m0s down, 1m0s fetch, 1m30s fetch, 2m0s fetch, 2m30s fetch, 2m30s a",
		},
		{
			name: "an attempt that hangs ends with the old value", first: token("a", 8*time.Second),
			steps: []step{{took: time.Hour}, {took: time.Hour}, token("b", time.Hour)}, lasts: 10 * time.Minute,
			want: "4s fetch, 8s context deadline exceeded, 9s fetch, 21s fetch, 21s b",
		},
		{
			name: "the lifetime counts from the beginning of the attempt", first: token("a", 100*time.Second),
			steps: []step{{grant: token("b", 20*time.Second).grant, took: 5 * time.Second}, token("c", time.Hour)}, lasts: 10 * time.Minute,
			want: "1m10s fetch, 1m15s b, 1m20s fetch, 1m20s c",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), tc.lasts)
				defer cancel()
				s := &script{began: time.Now(), steps: tc.steps}
				keep(ctx, s.fetch, time.Now(), tc.first.grant, s.update)
				if got := strings.Join(s.log, ", "); got != tc.want {
					t.Errorf("%s\nwant %s", got, tc.want)
				}
				if time.Since(s.began) != tc.lasts {
					t.Errorf("ended after %v, want %v", time.Since(s.began), tc.lasts)
				}
			})
		})
	}
}

func TestKeepEndsInAnAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		s := &script{began: time.Now(), steps: []step{{took: time.Hour}}}
		keep(ctx, s.fetch, time.Now(), token("a", 8*time.Second).grant, s.update)
		if got, want := strings.Join(s.log, ", "), "4s fetch"; got != want || time.Since(s.began) != 5*time.Second {
			t.Errorf("%s after %v, want %s", got, time.Since(s.began), want)
		}
	})
}

// TestNoUpdateAfterTheEnd: a value that a source returns after the end causes no update.
func TestNoUpdateAfterTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		late := func(ctx context.Context) (grant, error) {
			<-ctx.Done()
			return token("b", time.Hour).grant, nil
		}
		keep(ctx, late, time.Now(), token("a", 8*time.Second).grant, func(value []byte, err error) {
			t.Errorf("%s, %v", value, err)
		})
	})
}

func TestFirst(t *testing.T) {
	down := step{err: temporary{errors.New("down")}}
	final := step{err: errors.New("refused")}
	for _, tc := range []struct {
		name  string
		steps []step
		want  string
	}{
		{"at once", []step{token("a", time.Hour)}, "0s fetch, 0s a"},
		{"later", []step{down, {took: time.Minute}, token("a", time.Hour)}, "0s fetch, 1s fetch, 13s fetch, 13s a"},
		{"refused", []step{down, final}, "0s fetch, 1s fetch, 1s refused"},
		{"down", []step{down}, "0s fetch, 1s fetch, 3s fetch, 7s fetch, 7s down"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{began: time.Now(), steps: tc.steps}
				_, g, err := first(t.Context(), s.fetch)
				s.update(g.value, err)
				if got := strings.Join(s.log, ", "); got != tc.want {
					t.Errorf("%s\nwant %s", got, tc.want)
				}
			})
		})
	}
}
