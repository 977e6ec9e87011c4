package caller

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// TestRotation: the keys are read again at the first check after 30 seconds, and are used from the next one on.
func TestRotation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		content, failure, reads := []byte("another secret of the same issuer"), error(nil), 0
		p, err := NewPolicy(&rv.Listener{Token: &rv.TokenCheck{Algorithm: rv.TokenHS256}}, func(string) ([]byte, error) {
			reads++
			return content, failure
		})
		if err != nil {
			t.Fatal(err)
		}
		r := request("Bearer " + newToken(t, `{"alg":"HS256"}`, `{"exp":1800000000}`, hs256))
		for _, step := range []struct {
			what    string
			after   time.Duration
			content string
			failure error
			want    Verdict
			reads   int
		}{
			{"before the rotation", 0, "another secret of the same issuer", nil, BadToken, 1},
			{"the file is new", 29 * time.Second, secret, nil, BadToken, 1},
			{"it is read", time.Second, secret, nil, BadToken, 2},
			{"its keys are used", 0, secret, nil, Accepted, 2},
			{"it cannot be read", 30 * time.Second, "", errors.New("no such file"), Accepted, 3},
			{"it has no key", 30 * time.Second, "", nil, Accepted, 4},
			{"the keys stay", time.Second, "", nil, Accepted, 4},
		} {
			time.Sleep(step.after)
			content, failure = []byte(step.content), step.failure
			got := NewChecker(p).Check(true, r, time.Now().UnixNano())
			if synctest.Wait(); got != step.want || reads != step.reads {
				t.Errorf("%s: verdict %d after %d reads; want %d after %d", step.what, got, reads, step.want, step.reads)
			}
		}
	})
}
