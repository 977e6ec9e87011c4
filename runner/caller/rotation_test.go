package caller

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// TestRotation: new keys are used within 30 seconds, also by the first check since the rotation. The last keys stay if
// the file cannot be used, which is reported once.
func TestRotation(t *testing.T) {
	type file struct {
		content string
		err     error
	}
	first, second := &file{content: "another secret of the same issuer"}, &file{content: secret}
	absent, short := &file{err: errors.New("no such file")}, &file{content: "abc"}
	synctest.Test(t, func(t *testing.T) {
		var now atomic.Pointer[file]
		now.Store(first)
		p, err := NewPolicy(&rv.Listener{Token: &rv.TokenCheck{Algorithm: rv.TokenHS256}}, func(string) ([]byte, error) {
			f := now.Load()
			return []byte(f.content), f.err
		})
		if err != nil {
			t.Fatal(err)
		}
		failed := make(chan string, 10)
		go p.KeepKeys(t.Context(), func(err error) { failed <- err.Error() })
		synctest.Wait()
		r := request("Bearer " + newToken(t, `{"alg":"HS256"}`, `{"exp":1800000000}`, hs256))
		for _, step := range []struct {
			what   string
			file   *file
			after  time.Duration
			want   Verdict
			failed string
		}{
			{"the file is new", second, 29 * time.Second, BadToken, ""},
			{"it was read", second, time.Second, Accepted, ""},
			{"it cannot be read", absent, 30 * time.Second, Accepted, "no such file"},
			{"it has no key", short, 30 * time.Second, Accepted, ""},
			{"it has the first keys", first, 30 * time.Second, BadToken, ""},
			{"it has no key again", short, time.Minute, BadToken, "the secret has 3 bytes; HS256 needs at least 32 (RFC 7518 3.2)"},
			{"it has the second keys", second, 30 * time.Second, Accepted, ""},
		} {
			now.Store(step.file)
			time.Sleep(step.after)
			synctest.Wait()
			got, message := NewChecker(p).Check(true, r, time.Now().UnixNano()), ""
			if len(failed) > 0 {
				message = <-failed
			}
			if got != step.want || message != step.failed || len(failed) > 0 {
				t.Errorf("%s: verdict %d, failed %q, and %d more; want %d, %q", step.what, got, message, len(failed), step.want, step.failed)
			}
		}
	})
}

// TestNoKeys: nothing is read for a listener that checks no token.
func TestNoKeys(t *testing.T) {
	for _, p := range []*Policy{nil, {names: []string{"smf.test"}}} {
		p.KeepKeys(t.Context(), func(err error) { t.Error(err) })
	}
}
